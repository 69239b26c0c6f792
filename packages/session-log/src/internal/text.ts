/**
 * Text as a database can hold it: PostgreSQL refuses NUL, and a lone surrogate has no UTF-8. Such text, and text that looks
 * like its replacement, is stored as U+0001 and a JSON string; any other is stored as it is. Equal texts stay equal. JSON
 * documents need none of this: `JSON.stringify` escapes both.
 */
const marker = "\u0001"

const unsafe = /^\u0001|[\0\uD800-\uDFFF]/u

export const toStored = (text: string): string => (unsafe.test(text) ? marker + JSON.stringify(text) : text)

export const fromStored = (text: string): string =>
  text.startsWith(marker) ? (JSON.parse(text.slice(marker.length)) as string) : text
