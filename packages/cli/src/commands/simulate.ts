/**
 * `afterturn simulate`
 *
 * @since 0.1.0
 */
import * as os from "node:os"
import * as Simulation from "@afterturn/testing/Simulation"
import type { Finding } from "@afterturn/testing/SimulationCheck"
import type { SimulationStep } from "@afterturn/testing/SimulationStep"
import { StepsFile } from "@afterturn/testing/SimulationStep"
import * as Command from "@effect/platform/Command"
import type { CommandExecutor } from "@effect/platform/CommandExecutor"
import { FileSystem } from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { CliError } from "../CliError.js"
import { failure, usage } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { jsonText } from "../internal/json.js"
import { Output } from "../Output.js"
import { day } from "../simulate/Day.js"

/** Seeds that one process plays before another takes its place. */
const chunk = 50

/** Failed runs that are made short: each may take a while. */
const shortened = 3

interface Failure {
  readonly scenario: string
  readonly seed: number
  readonly steps: ReadonlyArray<SimulationStep>
  readonly findings: ReadonlyArray<Finding>
}

interface Report {
  readonly seeds: number
  readonly failures: ReadonlyArray<Failure>
  readonly coverage: Simulation.Coverage
}

const nothing: Report = { seeds: 0, failures: [], coverage: {} }

/**
 * Plays simulated days and prints what they have met; fails when one breaks a promise.
 *
 * @since 0.1.0
 * @category commands
 */
export const simulate = (options: {
  readonly seed: Option.Option<number>
  readonly seeds: Option.Option<number>
  readonly steps: Option.Option<string>
  readonly workers: Option.Option<number>
}): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const first = Option.getOrElse(options.seed, () => 1)
    const count = Option.getOrElse(options.seeds, () => 1)
    const workers = Math.min(
      Option.getOrElse(options.workers, () => os.availableParallelism()),
      Math.ceil(count / chunk)
    )
    const steps = Option.isSome(options.steps) ? yield* readSteps(options.steps.value, count) : undefined
    const report = workers > 1 ? yield* inWorkers(first, count, workers) : yield* here(first, count, steps)
    yield* output.json ? output.line(jsonText(report, output)) : print(report)
    if (report.failures.length > 0) {
      const seeds = report.failures.map(({ seed }) => seed).join(", ")
      return yield* failure(
        "promise_broken",
        `a promise was broken with ${report.failures.length} of ${count} seeds: ${seeds}`
      )
    }
  })

const readSteps = (file: string, count: number): Effect.Effect<ReadonlyArray<SimulationStep>, CliError, FileSystem> =>
  Effect.gen(function* () {
    if (count > 1) return yield* usage("--steps goes with one seed, leave out --seeds")
    const files = yield* FileSystem
    const text = yield* Effect.mapError(files.readFileString(file), ({ message }) =>
      failure("steps_unreadable", `${file} cannot be read: ${message}`)
    )
    return yield* Effect.mapError(Schema.decode(StepsFile)(text), (error) =>
      failure("steps_invalid", `${file}: ${ParseResult.TreeFormatter.formatErrorSync(error)}`)
    )
  })

const here = (first: number, count: number, steps: ReadonlyArray<SimulationStep> | undefined): Effect.Effect<Report> =>
  Effect.reduce(seedsFrom(first, count), nothing, (report, seed) =>
    Effect.gen(function* () {
      const outcome = yield* Simulation.run(day, { seed, ...(steps === undefined ? {} : { steps }) })
      const isShort = report.failures.length >= shortened
      const failed = outcome.findings.length === 0 ? [] : [isShort ? outcome : yield* Simulation.shrink(day, outcome)]
      return add(report, { seeds: 1, failures: failed.map(failureOf), coverage: outcome.coverage })
    })
  )

const seedsFrom = (first: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => first + index)

const failureOf = ({ findings, scenario, seed, steps }: Failure): Failure => ({ scenario, seed, steps, findings })

const add = (one: Report, other: Report): Report => ({
  seeds: one.seeds + other.seeds,
  failures: [...one.failures, ...other.failures],
  coverage: Simulation.addCoverage(one.coverage, other.coverage)
})

/** This very command, many times, each on a part of the seeds. */
const inWorkers = (
  first: number,
  count: number,
  workers: number
): Effect.Effect<Report, CliError, Output | CommandExecutor> =>
  Effect.gen(function* () {
    const output = yield* Output
    const starts = seedsFrom(first, Math.ceil(count / chunk)).map((_, index) => first + index * chunk)
    const reports = yield* Effect.forEach(
      starts,
      (start) =>
        Effect.tap(worker(start, Math.min(chunk, first + count - start)), ({ failures, seeds }) =>
          output.note(
            `seeds ${start} to ${start + seeds - 1}: ${failures.length === 0 ? "all holds" : "a promise was broken"}`
          )
        ),
      { concurrency: workers }
    )
    return reports.reduce(add, nothing)
  })

const worker = (start: number, count: number): Effect.Effect<Report, CliError, CommandExecutor> => {
  const [node = "node", file = ""] = process.argv
  const options = ["simulate", "--seed", `${start}`, "--seeds", `${count}`, "--workers", "1", "--json"]
  return Command.string(Command.make(node, ...process.execArgv, file, ...options)).pipe(
    Effect.flatMap((text) => Effect.try((): Report => JSON.parse(text.trim()))),
    Effect.mapError(() =>
      failure("worker_failed", `the process for seeds ${start} to ${start + count - 1} ended without a report`)
    )
  )
}

const print = ({ coverage, failures, seeds }: Report) =>
  Effect.gen(function* () {
    const output = yield* Output
    const lines = [
      ...failures.flatMap((failed) => [
        Simulation.toText(failed),
        `play it again, with these steps in FILE: afterturn simulate --seed ${failed.seed} --steps FILE`,
        ""
      ]),
      `${seeds} ${seeds === 1 ? "seed" : "seeds"}, met:`,
      ...Object.entries(coverage).map(([kind, counts]) => `  ${kind}: ${countsText(counts)}`)
    ]
    yield* output.line(lines.join("\n"))
  })

const countsText = (counts: Simulation.Coverage[string]): string =>
  Object.entries(counts)
    .sort(([, one], [, other]) => other - one)
    .map(([what, times]) => `${what} ${times}`)
    .join(", ")
