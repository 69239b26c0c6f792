import { dataOf } from "@afterturn/agent/AgentLog"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import { seedLength } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { JobId } from "../Job.js"
import { JobSettle, JobStart } from "../JobEvents.js"
import * as JobLog from "../JobLog.js"
import type { JobRecord, Runtime } from "./live.js"

/** What a session's own ledger says of a job beside its facts. */
export interface Place {
  /** How far the model has read it. */
  readonly cursor: number
  readonly order: number
}

/** The places of the jobs that the ledger holds, in start order, before those of any job that starts later. */
export const placesOf = (ledger: JobLog.Ledger): ((id: JobId) => Place) => {
  const jobs = [...ledger.recent, ...Object.values(ledger.open)].sort(byStart)
  const orders = new Map(jobs.map(({ id }, index) => [id, index - jobs.length]))
  return (id) => ({ cursor: ledger.cursors[id] ?? 0, order: orders.get(id) ?? -jobs.length })
}

type Started = Pick<JobLog.OpenJob, "id" | "startedAt">

const byStart = (one: Started, other: Started): number =>
  one.startedAt === other.startedAt
    ? JobLog.jobNumber(one.id) - JobLog.jobNumber(other.id)
    : one.startedAt < other.startedAt
      ? -1
      : 1

/** What is known of a job that has ended, wherever that stands. */
export type Ended = Omit<JobLog.FinishedJob, "seq" | "calledOff">

/** A job as an earlier run left it. */
export const finishedRecord = (runtime: Runtime, owner: SessionId, job: Ended, place: Place): JobRecord => ({
  ...recordOf(runtime, owner, job, place),
  status: job.status,
  detail: job.detail ?? undefined,
  reason: job.reason ?? undefined,
  finishedAt: job.finishedAt
})

/** A job of a session that has no live agent here: it runs on another host, or was lost with one. */
const openRecord = (runtime: Runtime, owner: SessionId, job: JobLog.OpenJob, place: Place): JobRecord => ({
  ...recordOf(runtime, owner, job, place),
  outputLimitBytes: job.outputLimitBytes ?? runtime.config.outputLimitBytes,
  status: job.stopping ? "stopping" : "running",
  reason: job.reason ?? undefined
})

const recordOf = (
  runtime: Runtime,
  owner: SessionId,
  job: Pick<JobLog.FinishedJob, "id" | "kind" | "label" | "startedAt">,
  place: Place
): JobRecord => ({
  id: job.id,
  kind: job.kind,
  label: job.label,
  owner,
  outputLimitBytes: runtime.config.outputLimitBytes,
  startedAt: job.startedAt,
  order: place.order,
  status: "running",
  detail: undefined,
  reason: undefined,
  finishedAt: undefined,
  size: undefined,
  cursor: place.cursor,
  finalFrom: undefined,
  expired: false,
  collectors: 0,
  reading: undefined,
  running: undefined
})

/** The jobs of a session that has no live agent here, as its ledger holds them. */
export const storedJobs = (runtime: Runtime, owner: SessionId): Effect.Effect<ReadonlyArray<JobRecord>, ReadError> =>
  Effect.map(runtime.projections.get(owner, JobLog.ledger), ({ value }) => {
    const placeOf = placesOf(value)
    return [
      ...value.recent.map((job) => finishedRecord(runtime, owner, job, placeOf(job.id))),
      ...Object.values(value.open).map((job) => openRecord(runtime, owner, job, placeOf(job.id)))
    ]
  })

/** A job of a session that is not in memory: from the ledger, or, when it has fallen out of that, from the log. */
export const findStored = (
  runtime: Runtime,
  owner: SessionId,
  id: JobId
): Effect.Effect<JobRecord | undefined, ReadError> =>
  Effect.gen(function* () {
    const { value } = yield* runtime.projections.get(owner, JobLog.ledger)
    const place = { cursor: value.cursors[id] ?? 0, order: 0 }
    const open = value.open[id]
    if (open !== undefined) return openRecord(runtime, owner, open, place)
    const finished = value.recent.find((job) => job.id === id) ?? Option.getOrUndefined(HashMap.get(value.untold, id))
    if (finished !== undefined) return finishedRecord(runtime, owner, finished, place)
    const { value: counters } = yield* runtime.projections.get(owner, JobLog.counters)
    if (JobLog.jobNumber(id) > JobLog.lastNumber(counters, JobLog.jobKind(id))) return undefined
    const old = yield* readFinished(runtime, owner, id)
    return old === undefined ? undefined : finishedRecord(runtime, owner, old, place)
  })

const readFinished = (runtime: Runtime, session: SessionId, id: JobId): Effect.Effect<Ended | undefined, ReadError> =>
  Effect.gen(function* () {
    const header = yield* runtime.log.header(session)
    const start = yield* findStart(runtime, session, id, seedLength(header), header.lastSeq)
    if (start === undefined) return undefined
    const end = yield* runtime.log.read(session, { fromSeq: start.seq + 1, types: [JobSettle.type] }).pipe(
      Stream.filter((event) => dataOf(JobSettle, event).id === id),
      Stream.runHead
    )
    if (Option.isNone(end)) return undefined
    const { detail, finishedAt, reason, startedAt, status } = dataOf(JobSettle, end.value)
    const { kind, label } = dataOf(JobStart, start)
    return {
      id,
      kind,
      label,
      startedAt,
      finishedAt,
      status,
      detail: detail ?? null,
      reason: reason ?? null
    }
  })

/**
 * The start of a job. Numbers of a kind nearly grow with seq, so the log is searched by halves; a start whose preparation took so long
 * that later ones overtook it is found by reading them all.
 */
const findStart = (
  runtime: Runtime,
  session: SessionId,
  id: JobId,
  firstSeq: number,
  lastSeq: number
): Effect.Effect<SessionEvent | undefined, ReadError> =>
  Effect.gen(function* () {
    const kind = JobLog.jobKind(id)
    const number = JobLog.jobNumber(id)
    let low = firstSeq
    let high = lastSeq
    while (low <= high) {
      const middle = (low + high) >> 1
      const start = yield* firstStart(runtime, session, kind, middle, high)
      const found = start === undefined ? undefined : JobLog.jobNumber(dataOf(JobStart, start).id)
      if (found === number) return start
      if (start === undefined || found! > number) high = middle - 1
      else low = start.seq + 1
    }
    const all = runtime.log.read(session, { fromSeq: firstSeq, toSeq: lastSeq, types: [JobStart.type] })
    return Option.getOrUndefined(
      yield* Stream.runHead(Stream.filter(all, (event) => dataOf(JobStart, event).id === id))
    )
  })

/** The first start of a kind in a range. The next start is mostly of that kind: one event is read before more are. */
const firstStart = (
  runtime: Runtime,
  session: SessionId,
  kind: string,
  fromSeq: number,
  toSeq: number
): Effect.Effect<SessionEvent | undefined, ReadError> =>
  Effect.gen(function* () {
    const range = { fromSeq, toSeq, types: [JobStart.type] }
    const next = Option.getOrUndefined(yield* Stream.runHead(runtime.log.read(session, { ...range, limit: 1 })))
    if (next === undefined || dataOf(JobStart, next).kind === kind) return next
    const rest = runtime.log.read(session, { ...range, fromSeq: next.seq + 1 })
    return Option.getOrUndefined(
      yield* Stream.runHead(Stream.filter(rest, (event) => dataOf(JobStart, event).kind === kind))
    )
  })
