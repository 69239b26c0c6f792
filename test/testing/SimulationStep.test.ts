import type { SimulationStep } from "@afterturn/testing/SimulationStep"
import { StepsFile, toText } from "@afterturn/testing/SimulationStep"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { assert, describe, it } from "vitest"

const decode = Schema.decodeUnknownEither(StepsFile, { onExcessProperty: "error" })

describe("SimulationStep", () => {
  it("is read as it was written", () => {
    const steps: ReadonlyArray<SimulationStep> = [
      { do: "boot", host: "a" },
      { do: "say", host: "a", session: "s1", replies: [{ text: "Yes.", calls: [{ tool: "job_list", input: {} }] }] },
      { do: "crash", host: "a", writes: 3, when: "after" },
      { do: "clock", seconds: -60 }
    ]
    assert.deepStrictEqual(Either.getOrThrow(decode(toText(steps))), steps)
    assert.deepStrictEqual(Either.getOrThrow(decode(toText([]))), [])
  })

  it.each([
    ["no JSON", "steps"],
    ["an unknown step", '[{ "do": "explode" }]'],
    ["a step without its place", '[{ "do": "open", "host": "a" }]'],
    ["a negative wait", '[{ "do": "wait", "seconds": -1 }]'],
    ["more than there is", '[{ "do": "boot", "host": "a", "port": 1 }]']
  ])("refuses %s", (_, text) => assert.isTrue(Either.isLeft(decode(text))))
})
