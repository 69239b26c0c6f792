import { day } from "@afterturn/cli/simulate/Day"
import * as Simulation from "@afterturn/testing/Simulation"
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assert } from "vitest"

describe("a simulated day", () => {
  it.live.each([9, 20])("keeps every promise with seed %i", (seed) =>
    Effect.map(Simulation.run(day, { seed }), (outcome) =>
      assert.deepStrictEqual(outcome.findings, [], Simulation.toText(outcome))
    )
  )
})
