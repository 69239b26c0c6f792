import * as AgentLog from "@afterturn/agent/AgentLog"
import * as JobLog from "@afterturn/jobs/JobLog"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Progress } from "../SubagentLog.js"
import * as SubagentLog from "../SubagentLog.js"
import type { Resident, Runtime } from "./live.js"

/**
 * How an agent stands, as its log has it. `waitsFor`: what it is not quiet for.
 */
export interface Look {
  readonly asOfSeq: number
  readonly progress: Progress
  readonly waitsFor: "turn" | "jobs" | "notice" | undefined
  /** How many jobs of its own run. */
  readonly ownJobs: number
  /** The jobs whose ends wait for whatever turn comes next. */
  readonly held: ReadonlyArray<string>
  /** The messages that wait, by id. */
  readonly waiting: ReadonlySet<string>
}

export const look = (runtime: Runtime, { agent, id }: Resident): Effect.Effect<Look, ReadError> =>
  Effect.gen(function* () {
    const { projections } = runtime
    const inbox = yield* projections.get(id, AgentLog.state)
    const ledger = yield* projections.get(id, JobLog.ledger)
    const progress = yield* projections.get(id, SubagentLog.progress)
    const messages = [...inbox.value.nextTurn, ...inbox.value.nextStep]
    const named = messages.flatMap(({ source }) => (source.kind === "job-notice" ? source.jobs : []))
    const untold = JobLog.untoldJobs(ledger.value).flatMap(({ id }) => (named.includes(id) ? [] : [id]))
    const noticed = [...named, ...untold]
    const ownJobs = Object.keys(ledger.value.open).length
    const isBusy = inbox.value.open !== null || (yield* agent.status) === "running"
    const awaitsNotice = noticed.length > 0 && !ledger.value.muted
    return {
      asOfSeq: Math.min(inbox.asOfSeq, ledger.asOfSeq, progress.asOfSeq),
      progress: progress.value,
      waitsFor: isBusy ? "turn" : ownJobs > 0 ? "jobs" : awaitsNotice ? "notice" : undefined,
      ownJobs,
      held: noticed,
      waiting: new Set(messages.map(({ id }) => id))
    }
  })

/**
 * Waits until the log goes on after a look, for a time; answers whether it did. A notice is not waited for longer than it takes. The longer
 * time is for an agent that was closed: its log may never go on.
 */
export const moved = (
  { log, options }: Runtime,
  id: SessionId,
  { asOfSeq, waitsFor }: Look
): Effect.Effect<boolean, ReadError> =>
  log
    .changes(id, { fromSeq: asOfSeq + 1 })
    .pipe(
      Stream.take(1),
      Stream.runDrain,
      Effect.timeoutOption(waitsFor === "notice" ? options.noticePatience : lookAgain),
      Effect.map(Option.isSome)
    )

const lookAgain = Duration.minutes(5)
