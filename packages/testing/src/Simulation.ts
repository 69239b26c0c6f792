/**
 * A whole life of agents from one seed: time, the order of fibers, what people ask and the model answers, failures of the store, and
 * the instants at which processes die. Afterwards every promise is checked. A run that breaks one is made as short as it can be.
 *
 * ```ts
 * const outcome = yield* Simulation.run(scenario, { seed: 42 })
 * if (outcome.findings.length > 0) console.log(Simulation.toText(yield* Simulation.shrink(scenario, outcome)))
 * ```
 *
 * The sessions are in memory, behind a store that fails as real ones do; see `SimulationScenario` for what is under test and
 * `SimulationCheck` for what has to hold.
 *
 * @since 0.1.0
 */
import * as Instants from "@afterturn/session-log/Instant"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as MemoryStore from "@afterturn/session-log/SessionStore/Memory"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Dice from "./Dice.js"
import { generate } from "./internal/simulation/generate.js"
import { countMet } from "./internal/simulation/met.js"
import type { Time } from "./internal/simulation/play.js"
import * as Play from "./internal/simulation/play.js"
import { shorten } from "./internal/simulation/shorten.js"
import { makeStage } from "./internal/simulation/stage.js"
import type { Evidence, Finding } from "./SimulationCheck.js"
import * as SimulationCheck from "./SimulationCheck.js"
import type { Scenario } from "./SimulationScenario.js"
import type { SimulationStep } from "./SimulationStep.js"
import * as Steps from "./SimulationStep.js"
import * as VirtualClock from "./VirtualClock.js"

/**
 * Which run: a seed, and the steps where they are not those that the seed makes up.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly seed: number
  readonly steps?: ReadonlyArray<SimulationStep>
  /** Real time after which work that never rests is a defect. Default: 30 seconds. */
  readonly patience?: Duration.DurationInput
}

/**
 * How a run went. `coverage` counts what it has met, by kind.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outcome {
  readonly scenario: string
  readonly seed: number
  readonly steps: ReadonlyArray<SimulationStep>
  readonly findings: ReadonlyArray<Finding>
  readonly coverage: Coverage
  readonly evidence: Evidence
}

/**
 * @since 0.1.0
 * @category models
 */
export type Coverage = { readonly [kind: string]: { readonly [what: string]: number } }

/**
 * Plays a run on the kit's virtual clock. The same seed, steps and program give the same run, event by event.
 *
 * @since 0.1.0
 * @category running
 */
export const run = <R>(scenario: Scenario<R>, options: Options): Effect.Effect<Outcome> =>
  Effect.suspend(() => {
    const dice = Dice.make(options.seed)
    const start = scenario.start(dice.derive("start"))
    const time = Effect.map(
      VirtualClock.VirtualClock,
      (clock): Time => ({
        settle: clock.settle,
        advance: clock.advance,
        setTime: clock.setTime,
        timers: Effect.map(clock.pending, ({ length }) => length)
      })
    )
    return Effect.flatMap(time, (clock) => live(scenario, options, dice, start, clock)).pipe((life) =>
      VirtualClock.run(life, {
        start,
        interleaving: dice.derive("interleaving"),
        // Nothing here waits for files.
        idleRounds: 1,
        patience: options.patience ?? "30 seconds"
      })
    )
  })

/**
 * The same under Effect's own `TestClock`, which the caller's test provides (`it.effect`). It takes some milliseconds of real time for
 * each wake-up, and fibers go on in Effect's own order: give it few steps.
 *
 * @since 0.1.0
 * @category running
 */
export const runTestClock = <R>(scenario: Scenario<R>, options: Options): Effect.Effect<Outcome> =>
  Effect.suspend(() => {
    const dice = Dice.make(options.seed)
    const start = scenario.start(dice.derive("start"))
    const time: Time = {
      settle: TestClock.adjust(0),
      advance: TestClock.adjust,
      setTime: TestClock.setTime,
      timers: Effect.map(TestClock.sleeps(), (sleeps) => [...sleeps].length)
    }
    return Effect.zipRight(TestClock.setTime(Instants.toMillis(start)), live(scenario, options, dice, start, time))
  })

const live = <R>(
  scenario: Scenario<R>,
  { seed, steps: given }: Options,
  dice: Dice.Dice,
  start: string,
  time: Time
): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const steps = given ?? generate(scenario, dice.derive("steps"), start)
    const store = yield* SessionStore
    const stage = makeStage(scenario, yield* scenario.world, dice, store, yield* Scope.make())
    const played = Effect.gen(function* () {
      yield* Play.play(stage, time, steps)
      yield* Play.finale(stage, time)
      const observed = yield* Play.observe(stage, time)
      return { observed, leftovers: yield* Play.close(stage, time) }
    })
    const { leftovers, observed } = yield* Effect.withRandom(played, Random.make(seed))
    const evidence = yield* Play.evidence(stage, observed, leftovers)
    countMet(stage.coverage, evidence)
    const findings = SimulationCheck.judge(evidence, scenario.checks)
    return { scenario: scenario.name, seed, steps, findings, coverage: stage.coverage.counts, evidence }
  }).pipe(Effect.scoped, Effect.provide(MemoryStore.layer), Logger.withMinimumLogLevel(LogLevel.Error))

/**
 * The shortest run that was found with a finding of the same check, by leaving steps out. Tries at most `attempts` runs (default 200).
 *
 * @since 0.1.0
 * @category running
 */
export const shrink = <R>(
  scenario: Scenario<R>,
  outcome: Outcome,
  options?: { readonly attempts?: number }
): Effect.Effect<Outcome> => {
  const wanted = new Set(outcome.findings.map(({ check }) => check))
  const fails = (found: Outcome) => found.findings.some(({ check }) => wanted.has(check))
  return shorten<SimulationStep, Outcome>(outcome, {
    attempts: options?.attempts ?? 200,
    attempt: (steps) =>
      Effect.map(run(scenario, { seed: outcome.seed, steps }), (found) => (fails(found) ? found : undefined))
  })
}

/**
 * A failed run for people: its findings, and the steps with which it can be played again.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = ({
  findings,
  scenario,
  seed,
  steps
}: Pick<Outcome, "findings" | "scenario" | "seed" | "steps">): string =>
  [
    `scenario ${scenario}, seed ${seed}: ${findings.length === 0 ? "all holds" : `${findings.length} findings`}`,
    ...findings.map((finding) => `  ${SimulationCheck.toText(finding)}`),
    `steps (${steps.length}):`,
    Steps.toText(steps)
  ].join("\n")

/**
 * Coverages of many runs as one.
 *
 * @since 0.1.0
 * @category conversions
 */
export const addCoverage = (one: Coverage, other: Coverage): Coverage =>
  Object.fromEntries(
    [...new Set([...Object.keys(one), ...Object.keys(other)])].sort().map((kind) => {
      const counts: Record<string, number> = { ...one[kind] }
      for (const [what, times] of Object.entries(other[kind] ?? {})) counts[what] = (counts[what] ?? 0) + times
      return [kind, counts]
    })
  )
