import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import * as Option from "effect/Option"
import type * as Order from "effect/Order"
import * as RedBlackTree from "effect/RedBlackTree"

/** An instant that a reminder waits for, in milliseconds since the epoch. */
export class Target implements Equal.Equal {
  readonly at: number
  readonly number: number

  constructor(at: number, number: number) {
    this.at = at
    this.number = number
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof Target && that.at === this.at && that.number === this.number
  }

  [Hash.symbol](): number {
    return Hash.number(this.number)
  }
}

/** Targets in order of instant, then number. Persistent: a change shares what it leaves. */
export type DueQueue = RedBlackTree.RedBlackTree<Target, true>

const order: Order.Order<Target> = (a, b) => {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1
  return a.number < b.number ? -1 : a.number > b.number ? 1 : 0
}

export const empty: DueQueue = RedBlackTree.empty(order)

export const move = (queue: DueQueue, from: Target | undefined, to: Target | undefined): DueQueue => {
  if (from !== undefined && to !== undefined && order(from, to) === 0) return queue
  const without = from === undefined ? queue : RedBlackTree.removeFirst(queue, from)
  return to === undefined ? without : RedBlackTree.insert(without, to, true)
}

export const first = (queue: DueQueue): Target | undefined =>
  Option.getOrUndefined(Option.map(RedBlackTree.first(queue), ([target]) => target))

export const ascending = (queue: DueQueue): Iterable<Target> => RedBlackTree.keys(queue)
