/** How values that were given appear in messages. */

const maxShown = 60

export const clip = (text: string): string => (text.length > maxShown ? `${text.slice(0, maxShown)}…` : text)

export const shown = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(clip(value))
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  return Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : `a ${typeof value}`
}
