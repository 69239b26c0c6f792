/** Plays simulated days until one breaks a promise: `FIRST COUNT` in, a line of JSON out. Bundled with a bug planted. */
import { day } from "@afterturn/cli/simulate/Day"
import * as Simulation from "@afterturn/testing/Simulation"
import * as SimulationCheck from "@afterturn/testing/SimulationCheck"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

const count = Number(process.argv[2])

/** What a run finds; one that breaks down altogether is found as well. */
const findings = (seed: number): Effect.Effect<ReadonlyArray<string>> =>
  Simulation.run(day, { seed }).pipe(
    Effect.map((outcome) => outcome.findings.map(SimulationCheck.toText)),
    Effect.catchAllCause((cause) => Effect.succeed([`breaks down: ${Cause.pretty(cause)}`]))
  )

const hunt = Effect.gen(function* () {
  for (let seed = 1; seed <= count; seed++) {
    const [first] = yield* findings(seed)
    if (first !== undefined) return { seed, finding: first }
  }
  return { seed: null, finding: null }
})

console.log(JSON.stringify(await Effect.runPromise(hunt)))
