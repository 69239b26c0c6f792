import { afterAll, describe, it } from "@effect/vitest"
import { check, makeRuntime } from "./support/machine.js"

const runtime = makeRuntime()
afterAll(() => runtime.dispose())

describe("a goal and a model of it", () => {
  it(
    "are not told apart by courses of verbs, rounds, crashes and clocks that were set",
    () => check(runtime, { numRuns: 200 }),
    120_000
  )
})
