/** Delta debugging: leaves out as much as it can, in halves first, then in ever smaller pieces. */
import * as Effect from "effect/Effect"

interface Shortening<Step, Run> {
  readonly attempts: number
  /** The run of these steps, when it still shows what is looked for. */
  readonly attempt: (steps: ReadonlyArray<Step>) => Effect.Effect<Run | undefined>
}

export const shorten = <Step, Run extends { readonly steps: ReadonlyArray<Step> }>(
  first: Run,
  { attempt, attempts }: Shortening<Step, Run>
): Effect.Effect<Run> =>
  Effect.gen(function* () {
    let best = first
    let left = attempts
    for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
      let at = 0
      while (at < best.steps.length && left > 0) {
        left--
        const found = yield* attempt([...best.steps.slice(0, at), ...best.steps.slice(at + size)])
        if (found === undefined) at += size
        else best = found
      }
    }
    return best
  })
