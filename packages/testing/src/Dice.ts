/**
 * Chance that is the same in every run: all that a simulation decides comes from dice of one seed.
 *
 * @since 0.1.0
 */

/**
 * Throws that a seed decides. `derive` makes dice of their own for a purpose, so that one more throw here changes nothing there.
 *
 * @since 0.1.0
 * @category models
 */
export interface Dice {
  /** From 0 up to, not including, 1. */
  readonly next: () => number
  /** A whole number from 0 up to, not including, `end`. */
  readonly below: (end: number) => number
  /** A whole number from `first` through `last`. */
  readonly between: (first: number, last: number) => number
  /** Whether something happens that does so with this probability. */
  readonly chance: (probability: number) => boolean
  /** One of these, which must not be none. */
  readonly pick: <A>(items: ReadonlyArray<A>) => A
  /** One of the keys, as often as its weight says. */
  readonly weighted: <K extends string>(weights: { readonly [key in K]: number }) => K
  readonly derive: (purpose: string) => Dice
}

/**
 * The dice of a seed, which may be any text or number.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (seed: string | number): Dice => {
  const next = generator(hash(String(seed)))
  const below = (end: number) => Math.floor(next() * end)
  const dice: Dice = {
    next,
    below,
    between: (first, last) => first + below(last - first + 1),
    chance: (probability) => next() < probability,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    weighted: (weights) => {
      const entries = Object.entries<number>(weights)
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      const found = entries.find(([, weight]) => {
        left -= weight
        return left < 0
      })
      return (found ?? entries.at(-1))?.[0] as keyof typeof weights
    },
    derive: (purpose) => make(`${seed}/${purpose}`)
  }
  return dice
}

/** FNV-1a: 32 bits of a text. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return value >>> 0
}

/** Mulberry32: small, fast, and good enough to choose by. */
const generator = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
