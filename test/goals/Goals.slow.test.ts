import { afterAll, describe, it } from "@effect/vitest"
import { check, makeRuntime } from "./support/machine.js"

const runtime = makeRuntime()
afterAll(() => runtime.dispose())

describe("a goal and a model of it", () => {
  for (let thousand = 1; thousand <= 10; thousand++) {
    it(`are not told apart by any of a thousand courses, ${thousand} of 10`, () => check(runtime, { numRuns: 1_000 }))
  }
})
