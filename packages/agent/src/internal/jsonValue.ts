/** Values from outside, copied into plain JSON before anyone looks at them, and short, safe text about them. */

/** Containers nested deeper are not read. */
const maxDepth = 64

/** Values with more parts are not read. */
const maxNodes = 200_000

/** Stands in a copy where the original held something that JSON can't say; `received` says what. */
export class NotJson {
  readonly received: string
  constructor(received: string) {
    this.received = received
  }
}

/** Plain JSON data with `NotJson` where the original had none. */
export type JsonValue = null | boolean | number | string | NotJson | ReadonlyArray<JsonValue> | JsonObject

export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** What may still be copied, and whether anything was not JSON. Shared by all copies made for one input. */
export interface CopyBudget {
  nodes: number
  sawNotJson: boolean
}

export const makeBudget = (): CopyBudget => ({ nodes: maxNodes, sawNotJson: false })

export type Kind = "null" | "boolean" | "number" | "string" | "array" | "object"

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof NotJson)

export const kindOf = (value: Exclude<JsonValue, NotJson>): Kind =>
  value === null ? "null" : Array.isArray(value) ? "array" : (typeof value as Kind)

/**
 * Copies a value that may be anything. Each property is read exactly once, so a getter or proxy that answers
 * differently the next time can't change what was checked.
 */
export const copy = (input: unknown, budget: CopyBudget, depth = 0): JsonValue => copyValue(input, budget, depth, [])

const copyValue = (input: unknown, budget: CopyBudget, depth: number, ancestors: Array<object>): JsonValue => {
  if (--budget.nodes < 0) return notJson(budget, `more than ${maxNodes} values`)
  switch (typeof input) {
    case "string":
    case "boolean":
      return input
    case "number":
      return Number.isFinite(input) ? (input === 0 ? 0 : input) : notJson(budget, String(input))
    case "object":
      return input === null ? null : copyContainer(input, budget, depth, ancestors)
    default:
      return notJson(budget, input === undefined ? "undefined" : `a ${typeof input}`)
  }
}

const copyContainer = (input: object, budget: CopyBudget, depth: number, ancestors: Array<object>): JsonValue => {
  if (ancestors.includes(input)) return notJson(budget, "an object that contains itself")
  if (depth >= maxDepth) return notJson(budget, `data nested more than ${maxDepth} levels deep`)
  ancestors.push(input)
  try {
    if (Array.isArray(input)) return copyArray(input, budget, depth, ancestors)
    if (!isPlain(input)) return notJson(budget, describeInstance(input))
    const out: Record<string, JsonValue> = {}
    for (const key of Object.keys(input)) {
      if (budget.nodes <= 0) return notJson(budget, `more than ${maxNodes} values`)
      const value = (input as Record<string, unknown>)[key]
      if (value !== undefined) setOwn(out, key, copyValue(value, budget, depth + 1, ancestors))
    }
    return out
  } catch {
    // A getter, a proxy's trap or a revoked proxy threw: what it threw is not ours to show.
    return notJson(budget, "an object that can't be read")
  } finally {
    ancestors.pop()
  }
}

const copyArray = (
  input: ReadonlyArray<unknown>,
  budget: CopyBudget,
  depth: number,
  ancestors: Array<object>
): JsonValue => {
  const length = input.length
  // A length is a claim, not memory: an array of a billion holes costs nothing to make.
  if (length > budget.nodes) return notJson(budget, `an array of ${length} items`)
  const out: Array<JsonValue> = []
  for (let i = 0; i < length; i++) out.push(copyValue(input[i], budget, depth + 1, ancestors))
  return out
}

const notJson = (budget: CopyBudget, received: string): NotJson => {
  budget.sawNotJson = true
  return new NotJson(received)
}

/** Also true of plain objects of another realm, whose prototype is not this realm's `Object.prototype`. */
const isPlain = (input: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(input)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const describeInstance = (input: object): string => {
  const name: unknown = input.constructor?.name
  return typeof name === "string" && /^[A-Za-z_$][\w$]{0,39}$/.test(name)
    ? `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name} object`
    : "an object of a class"
}

/** Plain assignment would take the key `__proto__` for the prototype. */
export const setOwn = (target: Record<string, unknown>, key: string, value: unknown): void => {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    target[key] = value
  }
}

/** Cuts to a number of UTF-16 units without splitting a surrogate pair. */
export const clip = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const end = limit - 1
  return `${text.slice(0, isHigh(text.charCodeAt(end - 1)) ? end - 1 : end)}…`
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/** Controls that JSON leaves alone, bidirectional overrides, invisible characters: they disguise the text around them. */
const deceptive = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/** JSON text of a string. */
export const quote = (text: string): string => JSON.stringify(text).replace(deceptive, escape)

/** JSON text of at most `limit` UTF-16 units, cut where it would be longer; of a long string also how long it is. */
export const render = (value: unknown, limit = 200): string => {
  const text = write(value, "", limit, 0)
  if (text.length <= limit && !(typeof value === "string" && value.length > limit)) return text
  const size = typeof value === "string" ? ` (${value.length} characters)` : ""
  return clip(text, limit - size.length) + size
}

/** Appends to `out`, giving up as soon as it is longer than `limit`. */
const write = (value: unknown, out: string, limit: number, depth: number): string => {
  if (out.length > limit) return out
  if (typeof value === "string") return out + quote(value.slice(0, limit))
  if (value instanceof NotJson) return out + value.received
  if (typeof value !== "object" || value === null) return out + safeString(value)
  if (depth > maxDepth) return `${out}…`
  let text = out
  if (Array.isArray(value)) {
    text += "["
    for (let i = 0; i < value.length && text.length <= limit; i++) {
      text = write(value[i], i === 0 ? text : `${text},`, limit, depth + 1)
    }
    return `${text}]`
  }
  text += "{"
  let first = true
  for (const [key, member] of Object.entries(value)) {
    if (text.length > limit) return text
    text = write(member, `${text}${first ? "" : ","}${quote(key.slice(0, limit))}:`, limit, depth + 1)
    first = false
  }
  return `${text}}`
}

const safeString = (value: unknown): string => {
  try {
    return String(value)
  } catch {
    return `a ${typeof value}`
  }
}

export type Path = ReadonlyArray<string | number>

/** `todos[0].status`; keys that are no plain names as `["a key"]`; long paths lose their middle. */
export const pathText = (path: Path): string => {
  let text = ""
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`
    else if (/^[A-Za-z_$][\w$-]{0,63}$/.test(part)) text += text === "" ? part : `.${part}`
    else text += `[${render(part, 80)}]`
  }
  return text.length <= 200 ? text : `${clip(text, 120)}${text.slice(-70).replace(/^[\udc00-\udfff]/, "")}`
}
