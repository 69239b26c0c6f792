/** Values and texts that have broken parsers before, and small changes that make a good one bad. */
import * as fc from "fast-check"

/** Arrays within arrays. */
export const deepJson = (levels: number): string => "[".repeat(levels) + "]".repeat(levels)

/** Text that no reader likes. `__proto__` and NUL among it. */
export const strings: ReadonlyArray<string> = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udfff\ud800",
  "\u202egnp.exe",
  "\u001b[2J\u001b]0;title\u0007",
  "\ufeff",
  "\r\n",
  "line\u2028line",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "NaN",
  "Infinity",
  "-0",
  "1e999",
  "9007199254740993",
  "0x10",
  "null",
  "undefined",
  "../../../etc/passwd",
  "'; DROP TABLE afterturn_events; --",
  "%s%n$(id)`id`",
  "👩‍👩‍👧‍👦",
  "a\u0301".repeat(50),
  "x".repeat(5_000)
]

/** Numbers at the edges of what JSON, seconds and dates hold. */
export const numbers: ReadonlyArray<number> = [
  0,
  -0,
  -1,
  0.1,
  1e-7,
  59,
  60,
  2 ** 31,
  2 ** 31 - 1,
  2 ** 32,
  2 ** 53,
  2 ** 53 - 1,
  -(2 ** 53),
  8.64e15,
  1e21,
  1e308,
  5e-324
]

/** JSON texts: valid ones that are hard to take, and some that are none. */
export const jsonTexts: ReadonlyArray<string> = [
  "",
  "null",
  "{",
  "[]",
  "[1,]",
  "NaN",
  "-0",
  "1e999",
  "9007199254740993",
  '{"a":1,"a":2}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toString":null,"valueOf":null}',
  '{"ok":{"toString":null,"valueOf":null},"op":{"toString":null},"kind":{"toString":null},"type":{"toString":null}}',
  '"\\ud800"',
  '"\\u0000"',
  "\ufeff{}",
  "'single'",
  "{} {}",
  deepJson(100),
  deepJson(10_000),
  `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`,
  "[".repeat(10_000)
]

const leaf: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], { "": "" }),
  fc.constantFrom<unknown>(...strings),
  fc.constantFrom<unknown>(...numbers),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.double(),
  fc.constantFrom<unknown>(...jsonTexts.filter((text) => text.length < 1_000))
)

/** JSON values as a hostile sender would choose them. */
export const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: leaf },
  { weight: 1, arbitrary: fc.array(leaf, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.oneof(fc.constantFrom(...strings), fc.string()), leaf, { maxKeys: 4 }) }
)

interface Change {
  readonly at: number
  readonly kind: "replace" | "remove" | "add" | "wrap" | "double"
  readonly value: unknown
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(1_000),
  kind: fc.constantFrom(
    "replace" as const,
    "replace" as const,
    "remove" as const,
    "add" as const,
    "wrap" as const,
    "double" as const
  ),
  value
})

/** A valid value, changed at none to three places. */
export const nearly = (valid: ReadonlyArray<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(fc.constantFrom(...valid), fc.array(change, { maxLength: 3 }))
    .map(([start, changes]) => changes.reduce(changed, start))

/** With one place of it changed, the places counted in the order in which JSON writes them. */
const changed = (root: unknown, { at, kind, value }: Change): unknown => {
  const place = at % count(root)
  let index = -1
  const visit = (node: unknown): unknown => {
    index++
    if (index === place) return replaced(node, kind, value)
    if (Array.isArray(node)) return node.map(visit)
    if (typeof node !== "object" || node === null) return node
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, visit(item)]))
  }
  return visit(root)
}

const replaced = (node: unknown, kind: Change["kind"], value: unknown): unknown => {
  switch (kind) {
    case "replace":
      return value
    case "remove":
      return undefined
    case "add":
      return Array.isArray(node)
        ? [...node, value]
        : typeof node === "object" && node !== null
          ? Object.fromEntries([...Object.entries(node), [typeof value === "string" ? value : "extra", value]])
          : value
    case "wrap":
      return [node]
    case "double":
      return typeof node === "string" ? node + node : [node, node]
  }
}

const count = (node: unknown): number =>
  typeof node === "object" && node !== null
    ? Object.values(node).reduce<number>((sum, item) => sum + count(item), 1)
    : 1

/** A valid text, with none to three pieces cut, doubled or put in. */
export const nearlyText = (valid: ReadonlyArray<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...valid),
      fc.array(
        fc.record({
          at: fc.nat(10_000),
          cut: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(100)),
          put: fc.oneof(fc.constantFrom(...strings), fc.string({ maxLength: 4 }), fc.constant(""))
        }),
        { maxLength: 3 }
      )
    )
    .map(([start, edits]) =>
      edits.reduce((text, { at, cut, put }) => {
        const from = at % (text.length + 1)
        return text.slice(0, from) + put + text.slice(from + cut)
      }, start)
    )

/** How often a property is tried: a little, and always the same, with every test run; often, and each time anew, in the slow one. */
export const runs = (fast: number, slow: number): { readonly numRuns: number; readonly seed?: number } =>
  isSlow ? { numRuns: slow } : { numRuns: fast, seed: 1 }

const isSlow = (import.meta as { readonly env?: { readonly MODE?: string } }).env?.MODE === "slow"
