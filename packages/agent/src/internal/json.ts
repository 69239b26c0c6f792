/**
 * The JSON value nearest to what a model or a handler gave: `-0` becomes 0, what JSON cannot hold is left out or null. What cannot
 * be written at all (a cycle, a bigint) becomes a text that says so.
 */
export const toJson = (value: unknown): unknown => {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value
  try {
    const text = JSON.stringify(value)
    return text === undefined ? null : JSON.parse(text)
  } catch {
    return "[a value that JSON cannot hold]"
  }
}
