/** Chance that can be repeated: a number generator of 32 bits (mulberry32). */
export interface Random {
  /** From 0 up to, not including, 1. */
  readonly next: () => number
  /** A whole number from 0 up to, not including, `limit`. */
  readonly below: (limit: number) => number
  readonly pick: <A>(choices: readonly [A, ...ReadonlyArray<A>]) => A
}

export const random = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    next,
    below: (limit) => Math.floor(next() * limit),
    pick: (choices) => choices[Math.floor(next() * choices.length)] ?? choices[0]
  }
}

const words =
  "the list of what was found in each file and why it matters for the next step of this plan before we go on with tests and notes".split(
    " "
  )

/** Text that looks like prose, and never the same twice. */
export const prose = (source: Random, count: number): string =>
  Array.from({ length: count }, () =>
    source.below(10) === 0 ? String(source.below(1_000_000)) : (words[source.below(words.length)] ?? "")
  ).join(" ")
