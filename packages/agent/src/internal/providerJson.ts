import * as Tool from "@effect/ai/Tool"

/**
 * Reading what servers send: whatever is not there, or is of another type, reads as absent.
 */
export type Json = Readonly<Record<string, unknown>>

export const object = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {}

export const list = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.map(object) : [])

export const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

export const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined

/**
 * A call's arguments as JSON text that can be read. What is no JSON becomes a JSON string of itself: `@effect/ai` would fail the
 * whole answer for it, where the tool pipeline tells the model what is wrong with this one call.
 */
export const readableArguments = (received: string): string => {
  if (received.trim() === "") return "{}"
  try {
    Tool.unsafeSecureJsonParse(received)
    return received
  } catch {
    return JSON.stringify(received)
  }
}

/**
 * The text of a tool's result: the adapters of `@effect/ai` send it as a JSON string, quotes and escapes and all.
 */
export const resultText = (sent: string): string => {
  try {
    const value: unknown = JSON.parse(sent)
    return typeof value === "string" ? value : sent
  } catch {
    return sent
  }
}

/**
 * A tool's name as providers take it back: one that a model made up may hold anything.
 */
export const safeName = (name: unknown): string => safe(name, 64) || "unknown"

/**
 * The id of a call as every provider takes it back, also one that another provider gave.
 */
export const safeId = (id: unknown): string => safe(id, 64) || "call"

const safe = (value: unknown, length: number): string =>
  (text(value) ?? "").replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(-length)
