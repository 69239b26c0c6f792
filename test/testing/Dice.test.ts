import * as Dice from "@afterturn/testing/Dice"
import { assert, describe, it } from "vitest"

const throws = <A>(count: number, one: () => A): ReadonlyArray<A> => Array.from({ length: count }, one)

describe("Dice", () => {
  it("fall the same for the same seed, and otherwise for another", () => {
    const [one, again, other] = [7, 7, 8].map((seed) => throws(20, Dice.make(seed).next))
    assert.deepStrictEqual(one, again)
    assert.notDeepEqual(one, other)
  })

  it("derive dice that no throw of theirs changes", () => {
    const dice = Dice.make(7)
    const before = throws(5, dice.derive("weather").next)
    throws(3, dice.next)
    assert.deepStrictEqual(throws(5, dice.derive("weather").next), before)
    assert.notDeepEqual(throws(5, dice.derive("people").next), before)
  })

  it("stay within their bounds and reach both ends", () => {
    const dice = Dice.make("bounds")
    const found = new Set(throws(400, () => dice.between(3, 6)))
    assert.deepStrictEqual([...found].sort(), [3, 4, 5, 6])
    assert.isTrue(throws(400, dice.next).every((value) => value >= 0 && value < 1))
  })

  it("weigh", () => {
    const dice = Dice.make("weights")
    const found = throws(1000, () => dice.weighted({ often: 9, seldom: 1, never: 0 }))
    const count = (what: string) => found.filter((one) => one === what).length
    assert.strictEqual(count("never"), 0)
    assert.isAbove(count("often"), 850)
    assert.isAbove(count("seldom"), 50)
  })
})
