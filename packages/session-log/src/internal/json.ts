/**
 * Lossless JSON: what comes back from text exactly as it went in.
 */

/** How deep values may nest. */
const maxDepth = 512

/** Where a value is not lossless JSON, and why. */
interface Fault {
  readonly path: ReadonlyArray<string | number>
  readonly reason: string
}

export interface CopyOptions {
  /** For text from outside: `-0` becomes 0 instead of a fault. */
  readonly normalizeZero?: boolean
}

export type Copied = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly fault: Fault }

interface Walk {
  readonly normalizeZero: boolean
  reason: string
  /** Collected from the leaf up while a failed walk returns. */
  readonly path: Array<string | number>
}

const failed = Symbol("not lossless JSON")

/**
 * A frozen copy made of fresh plain objects and arrays. Each property is looked at once, so neither the source nor an accessor
 * in it can make what was checked differ from what is kept.
 */
export const copy = (value: unknown, options?: CopyOptions): Copied => {
  const walk: Walk = { normalizeZero: options?.normalizeZero ?? false, reason: "", path: [] }
  const copied = copyValue(walk, value, 0)
  return copied === failed ? { ok: false, fault: fault(walk, value) } : { ok: true, value: copied }
}

/** A path as it is written after the name of the root: `.steps[2]["a b"]`. */
export const formatPath = (path: ReadonlyArray<PropertyKey>): string =>
  path
    .map((key) =>
      typeof key !== "string"
        ? `[${String(key)}]`
        : /^[A-Za-z_$][\w$]*$/.test(key)
          ? `.${key}`
          : `[${JSON.stringify(key)}]`
    )
    .join("")

const fail = (walk: Walk, reason: string): typeof failed => {
  walk.reason = reason
  return failed
}

const copyValue = (walk: Walk, value: unknown, depth: number): unknown => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      if (!Number.isFinite(value)) return fail(walk, `expected a finite number, got ${value}`)
      if (value !== 0 || !Object.is(value, -0)) return value
      return walk.normalizeZero ? 0 : fail(walk, "expected a number that JSON keeps, got -0")
    case "object":
      if (value === null) return null
      if (depth >= maxDepth) return fail(walk, tooDeep)
      return Array.isArray(value) ? copyArray(walk, value, depth) : copyObject(walk, value, depth)
    default:
      return fail(walk, `expected JSON, got ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}`)
  }
}

const copyArray = (walk: Walk, source: ReadonlyArray<unknown>, depth: number): unknown => {
  if (Object.getPrototypeOf(source) !== Array.prototype) return fail(walk, "expected a plain array")
  const { length } = source
  // A hole makes for fewer keys than entries, a named property for more.
  if (Reflect.ownKeys(source).length !== length + 1) {
    return fail(walk, "expected an array without holes or named properties")
  }
  const target: Array<unknown> = new Array(length)
  for (let index = 0; index < length; index++) {
    const copied = copyProperty(walk, source, index, depth)
    if (copied === failed) {
      walk.path.unshift(index)
      return failed
    }
    target[index] = copied
  }
  return Object.freeze(target)
}

const copyObject = (walk: Walk, source: object, depth: number): unknown => {
  const prototype: unknown = Object.getPrototypeOf(source)
  if (prototype !== Object.prototype && prototype !== null) return fail(walk, notPlain(source))
  const target: Record<string, unknown> = {}
  for (const key of Reflect.ownKeys(source)) {
    if (typeof key === "symbol") return fail(walk, `expected string keys, got ${String(key)}`)
    const copied = copyProperty(walk, source, key, depth)
    if (copied === failed) {
      walk.path.unshift(key)
      return failed
    }
    // Plain assignment would set the prototype instead.
    if (key === "__proto__") Object.defineProperty(target, key, { value: copied, enumerable: true })
    else target[key] = copied
  }
  return Object.freeze(target)
}

const copyProperty = (walk: Walk, source: object, key: string | number, depth: number): unknown => {
  const descriptor = Object.getOwnPropertyDescriptor(source, key)
  if (descriptor === undefined) return fail(walk, "expected an array without holes or named properties")
  if (!("value" in descriptor)) return fail(walk, "expected a value, got an accessor")
  if (descriptor.enumerable !== true) return fail(walk, "expected an enumerable property")
  return copyValue(walk, descriptor.value, depth + 1)
}

const notPlain = (source: object): string => {
  const name: unknown = source.constructor?.name
  return `expected a plain object, got ${typeof name === "string" && name !== "" ? `a ${name}` : "an instance"}`
}

const tooDeep = `expected at most ${maxDepth} levels`

/** A cycle shows as a value that is too deep: named where it closes. */
const fault = (walk: Walk, root: unknown): Fault => {
  if (walk.reason !== tooDeep) return { path: walk.path, reason: walk.reason }
  const seen = new Set<unknown>([root])
  let at = root
  for (let index = 0; index < walk.path.length; index++) {
    at = (at as Record<string | number, unknown>)[walk.path[index]!]
    if (seen.has(at)) return { path: walk.path.slice(0, index + 1), reason: "expected a tree, got a cycle" }
    seen.add(at)
  }
  return { path: walk.path, reason: tooDeep }
}
