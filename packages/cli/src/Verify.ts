/**
 * Checks what is stored of a session against what it must be.
 *
 * @since 0.1.0
 */
import { EventTypes } from "@afterturn/session-log/EventTypes"
import * as Instant from "@afterturn/session-log/Instant"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import { headerVersion } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionLogCorrupt, SessionNotFound, SessionVersionUnsupported } from "@afterturn/session-log/SessionLogError"
import type { SessionStoreError, StoredHeader, StoredLease, StoredSnapshot } from "@afterturn/session-log/SessionStore"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { folds } from "./Compose/Folds.js"
import type { FoldCheck } from "./internal/checkedFold.js"

/**
 * What was found of a sound session.
 *
 * @since 0.1.0
 * @category models
 */
export interface Verified {
  readonly id: SessionId
  readonly events: number
  /** Snapshots that equal the fold of their events. */
  readonly snapshots: number
  /** Snapshots of projections or versions that this release does not read. */
  readonly unread: number
  /** Who drives the session; `expired` when that process did not give it up. */
  readonly lease: {
    readonly host: string
    readonly pid: number
    readonly expiresAt: Instant.Instant
    readonly expired: boolean
  } | null
}

/**
 * Checks a session: its header, its events (none missing, each readable, of its type, and taken by the folds of the capabilities), its
 * snapshots against the fold of its events, its lease. Fails with the first fault, which it names.
 *
 * @since 0.1.0
 * @category checks
 */
export const session = (id: SessionId): Effect.Effect<Verified, ReadError, SessionLog | SessionStore | EventTypes> =>
  Effect.gen(function* () {
    const store = yield* SessionStore
    // Before the header: a process that drives the session may store more of them meanwhile, at later events.
    const snapshots = yield* store.snapshots(id)
    const header = yield* requireHeader(store, id)
    const checks = yield* Effect.forEach(snapshots, (snapshot) => checkOf(header, snapshot))
    const known = checks.filter((check) => check !== undefined)
    const whole = folds.flatMap(({ events }) => (events === undefined ? [] : [events(header)]))
    const index = new Map<string, IndexedType>()
    yield* checkEvents(header, (event) => {
      indexEvent(index, event)
      for (const check of [...known, ...whole]) check.add(event)
    })
    yield* Effect.flatMap(store.types(id), (types) => checkIndex(header, index, types))
    for (const check of [...whole, ...known]) yield* check.finish
    const lease = yield* Effect.flatMap(store.lease(id), (row) => checkLease(header, row))
    return { id, events: header.lastSeq + 1, snapshots: known.length, unread: snapshots.length - known.length, lease }
  })

/**
 * Checks every session that this release reads, newest first; the others are passed to `skip`.
 *
 * @since 0.1.0
 * @category checks
 */
export const all = (
  skip: (error: SessionVersionUnsupported) => Effect.Effect<void>
): Stream.Stream<Verified, ReadError, SessionLog | SessionStore | EventTypes> =>
  Stream.flatMap(storedHeaders, (header) =>
    header.version > headerVersion ? Stream.drain(skip(unsupported(header))) : session(header.id)
  )

const storedHeaders: Stream.Stream<StoredHeader, SessionStoreError, SessionStore> = Stream.unwrap(
  Effect.map(SessionStore, (store) =>
    Stream.paginateChunkEffect<
      { readonly createdAt: number; readonly id: SessionId } | undefined,
      StoredHeader,
      SessionStoreError,
      never
    >(undefined, (after) =>
      Effect.map(store.list({ after, limit: pageSize, cwd: undefined, parent: undefined }), (rows) => [
        Chunk.fromIterable(rows),
        rows.length < pageSize ? Option.none() : Option.fromNullable(rows.at(-1))
      ])
    )
  )
)

const pageSize = 500

const corrupt = (header: Pick<StoredHeader, "id">, seq: number, reason: string): SessionLogCorrupt =>
  new SessionLogCorrupt({ sessionId: header.id, seq, reason })

const unsupported = ({ id, version }: StoredHeader): SessionVersionUnsupported =>
  new SessionVersionUnsupported({ sessionId: id, version, supported: headerVersion })

const requireHeader = (
  store: Context.Tag.Service<SessionStore>,
  id: SessionId
): Effect.Effect<StoredHeader, SessionNotFound | SessionVersionUnsupported | SessionLogCorrupt | SessionStoreError> =>
  Effect.gen(function* () {
    const found = yield* store.header(id)
    if (Option.isNone(found)) return yield* new SessionNotFound({ sessionId: id })
    const header = found.value
    if (header.version > headerVersion) return yield* unsupported(header)
    const problem = headerProblem(header)
    return problem === undefined ? header : yield* corrupt(header, -1, problem)
  })

const isMoment = (millis: number): boolean => Number.isInteger(millis) && Math.abs(millis) <= 8.64e15

const headerProblem = ({
  createdAt,
  delegationDepth,
  lastSeq,
  seedLength,
  version
}: StoredHeader): string | undefined => {
  if (version !== headerVersion) return `expected header version ${headerVersion}, got ${version}`
  if (!isMoment(createdAt)) return `expected a creation time in milliseconds, got ${createdAt}`
  if (!Number.isInteger(lastSeq) || lastSeq < -1) return `expected a last seq from -1, got ${lastSeq}`
  if (!Number.isInteger(seedLength) || seedLength < 0 || seedLength > lastSeq + 1) {
    return `expected a seed of 0 to ${lastSeq + 1} events, got ${seedLength}`
  }
  return Number.isInteger(delegationDepth) && delegationDepth >= 0
    ? undefined
    : `expected a delegation depth from 0, got ${delegationDepth}`
}

/** Reading finds gaps and rows that are no events; what is left is whether each is of its type. */
const checkEvents = (header: StoredHeader, add: (event: SessionEvent) => void) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const types = yield* EventTypes
    const next = yield* Stream.runFoldEffect(log.read(header.id, { toSeq: header.lastSeq }), 0, (seq, event) => {
      const problem = eventProblem(types, event, seq)
      if (problem !== undefined) return Effect.fail(corrupt(header, seq, problem))
      return Effect.sync(() => {
        add(event)
        return seq + 1
      })
    })
    if (next <= header.lastSeq) return yield* corrupt(header, next, `expected the event at ${next}, got none`)
  })

const eventProblem = (types: Context.Tag.Service<EventTypes>, event: SessionEvent, seq: number): string | undefined => {
  if (event.seq !== seq) return `expected the event at ${seq}, got one at ${event.seq}`
  const type = types.get(event.type)
  if (type === undefined) return event.ignorable === true ? undefined : `unknown event type "${event.type}"`
  const problem = type.problem(event.data)
  if (problem !== undefined) return `event "${event.type}": ${problem}`
  return event.sourceEventSeqs?.some((source) => source >= seq) === true
    ? "expected sourceEventSeqs to name earlier events"
    : undefined
}

interface IndexedType {
  readonly firstSeq: number
  readonly ignorable: boolean
}

/** The index that tells what types a session holds, made anew: of a type's events the first that must be known counts, if any. */
const indexEvent = (index: Map<string, IndexedType>, event: SessionEvent): void => {
  const ignorable = event.ignorable === true
  const present = index.get(event.type)
  if (present === undefined || (present.ignorable && !ignorable)) {
    index.set(event.type, { firstSeq: event.seq, ignorable })
  }
}

/** What the stored index says of events that came after the header was read cannot be judged. */
const checkIndex = (
  header: StoredHeader,
  index: ReadonlyMap<string, IndexedType>,
  stored: ReadonlyArray<IndexedType & { readonly type: string }>
): Effect.Effect<void, SessionLogCorrupt> => {
  const rows = new Map(stored.map((row) => [row.type, row]))
  for (const type of new Set([...index.keys(), ...rows.keys()])) {
    const expected = index.get(type)
    const row = rows.get(type)
    if (row !== undefined && row.firstSeq > header.lastSeq) continue
    if (expected?.firstSeq !== row?.firstSeq || expected?.ignorable !== row?.ignorable) {
      const seq = expected?.firstSeq ?? row?.firstSeq ?? -1
      return Effect.fail(corrupt(header, seq, `the index of types is wrong about "${type}"`))
    }
  }
  return Effect.void
}

const checkOf = (
  header: StoredHeader,
  snapshot: StoredSnapshot
): Effect.Effect<FoldCheck | undefined, SessionLogCorrupt> => {
  const { key, seq, version } = snapshot
  const fault = (reason: string) => corrupt(header, seq, `snapshot of projection "${key}": ${reason}`)
  if (!Number.isInteger(seq) || seq < -1 || seq > header.lastSeq) {
    return Effect.fail(fault(`expected a seq through ${header.lastSeq}`))
  }
  const known = folds.find((fold) => fold.key === key && fold.version === version)
  return Effect.succeed(known?.snapshot(header, snapshot, fault))
}

/** No lease reaches further: holders renew theirs every few seconds. */
const maxLeaseMillis = 3_600_000

const checkLease = (
  header: StoredHeader,
  row: Option.Option<StoredLease>
): Effect.Effect<Verified["lease"], SessionLogCorrupt> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (Option.isNone(row)) return Effect.succeed(null)
    const { epoch, expiresAt, host, pid } = row.value
    const fault = (reason: string) => Effect.fail(corrupt(header, header.lastSeq, `lease: ${reason}`))
    if (!Number.isInteger(epoch) || epoch < 1) return fault(`expected an epoch from 1, got ${epoch}`)
    if (!isMoment(expiresAt)) return fault(`expected an expiry in milliseconds, got ${expiresAt}`)
    if (expiresAt > now + maxLeaseMillis) {
      return fault(`expected one that is renewed every few seconds, got one until ${Instant.format(expiresAt)}`)
    }
    return Effect.succeed({ host, pid, expiresAt: Instant.format(expiresAt), expired: expiresAt <= now })
  })
