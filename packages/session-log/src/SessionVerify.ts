/**
 * Verification of a stored session, event by event, for those who suspect it: reads check rows, order and JSON; this also
 * checks each event against its type and each snapshot against the events that it stands for.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { EventTypes } from "./EventTypes.js"
import type { Fold } from "./internal/fold.js"
import { apply, decodeState, encodeState, fromInitial, problemOf } from "./internal/fold.js"
import { describe } from "./internal/parseError.js"
import { decodeRow, headerProblem, isCount, isMillis, unsupported } from "./internal/rows.js"
import type { Any, Projection } from "./Projection.js"
import type { SessionEvent, SessionId } from "./SessionEvent.js"
import type { SessionVersionUnsupported } from "./SessionLogError.js"
import { SessionNotFound } from "./SessionLogError.js"
import type { SessionStoreError, StoredHeader, StoredLease, StoredSnapshot } from "./SessionStore.js"
import { SessionStore } from "./SessionStore.js"

/**
 * What is wrong with a session: in its header, at an event (`seq`), in the snapshot of a projection (`key`, `seq`), or in its
 * lease.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionFault = Schema.Struct({
  part: Schema.Literal("header", "event", "snapshot", "lease"),
  seq: Schema.optionalWith(Schema.Number, { exact: true }),
  key: Schema.optionalWith(Schema.String, { exact: true }),
  reason: Schema.String
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type SessionFault = typeof SessionFault.Type

type Store = (typeof SessionStore)["Service"]
type Registry = (typeof EventTypes)["Service"]

/**
 * The first fault of a session, or `null`. Reads the session once, in pages, and changes nothing. A snapshot is refolded from
 * the first event when its projection is given; one of another version is nobody's any more. Events of unknown types are no
 * fault.
 *
 * @since 0.1.0
 * @category accessors
 */
export const verify: (
  id: SessionId,
  options?: { readonly projections?: ReadonlyArray<Any> }
) => Effect.Effect<
  SessionFault | null,
  SessionNotFound | SessionVersionUnsupported | SessionStoreError,
  SessionStore | EventTypes
> = Effect.fn("SessionVerify.verify")(function* (id, options) {
  const store = yield* SessionStore
  const registry = yield* EventTypes
  // Before the header: what is appended meanwhile must not make a snapshot look as if it were ahead of the log.
  const snapshots = yield* store.snapshots(id)
  const found = yield* store.header(id)
  if (Option.isNone(found)) return yield* new SessionNotFound({ sessionId: id })
  const header = found.value
  const newer = unsupported(header)
  if (newer !== undefined) return yield* newer
  const refolds = refoldsOf(header, snapshots, options?.projections ?? [])
  return (
    headerFault(header) ??
    rangeFault(header, snapshots) ??
    (yield* eventFault(store, registry, header, refolds)) ??
    (yield* tailFault(store, header)) ??
    (yield* refoldFault(refolds)) ??
    (yield* Effect.map(store.lease(id), Option.match({ onNone: () => null, onSome: leaseFault })))
  )
})

const headerFault = (header: StoredHeader): SessionFault | null => {
  const reason = headerProblem(header)
  return reason === undefined ? null : { part: "header", reason }
}

const rangeFault = (header: StoredHeader, snapshots: ReadonlyArray<StoredSnapshot>): SessionFault | null => {
  const ahead = snapshots.find(({ seq }) => !Number.isInteger(seq) || seq < -1 || seq > header.lastSeq)
  return ahead === undefined
    ? null
    : snapshotFault(ahead, `expected a snapshot of a seq from -1 through ${header.lastSeq}, got one of ${ahead.seq}`)
}

const snapshotFault = ({ key, seq }: StoredSnapshot, reason: string): SessionFault => ({
  part: "snapshot",
  key,
  seq,
  reason
})

/** A snapshot and the fold that it should equal. */
interface Refold {
  readonly snapshot: StoredSnapshot
  readonly projection: Projection<unknown, unknown>
  readonly fold: Fold<unknown>
}

const refoldsOf = (
  header: StoredHeader,
  snapshots: ReadonlyArray<StoredSnapshot>,
  projections: ReadonlyArray<Any>
): ReadonlyArray<Refold> =>
  snapshots.flatMap((snapshot) =>
    projections
      .filter(({ key, version }) => key === snapshot.key && version === snapshot.version)
      .map((projection) => ({ snapshot, projection, fold: fromInitial(projection, header) }))
  )

const page = { types: undefined, limit: 256, maxBytes: 4 * 1024 * 1024 }

/** Checks the events and folds them on the way. */
const eventFault = (
  store: Store,
  registry: Registry,
  header: StoredHeader,
  refolds: ReadonlyArray<Refold>
): Effect.Effect<SessionFault | null, SessionStoreError> =>
  Effect.gen(function* () {
    const fault = (seq: number, reason: string): SessionFault => ({ part: "event", seq, reason })
    let next = 0
    while (next <= header.lastSeq) {
      const rows = yield* store.read(header.id, { ...page, fromSeq: next, toSeq: header.lastSeq })
      if (rows.length === 0) return fault(next, `expected the event at ${next}, got none`)
      for (const row of rows) {
        if (row.seq !== next) return fault(next, `expected the event at ${next}, got one at ${row.seq}`)
        const event = decodeRow(row)
        if (Either.isLeft(event)) return fault(next, event.left)
        const problem = problemOf(registry, event.right) ?? refoldAll(refolds, event.right)
        if (problem !== undefined) return fault(next, problem)
        next++
      }
    }
    return null
  })

const refoldAll = (refolds: ReadonlyArray<Refold>, event: SessionEvent): string | undefined => {
  for (const { fold, projection, snapshot } of refolds) {
    if (event.seq <= fold.asOfSeq || event.seq > snapshot.seq) continue
    try {
      apply(projection, fold, event)
    } catch (error) {
      return `expected projection "${projection.key}" to take event "${event.type}", it threw: ${error}`
    }
  }
  return undefined
}

/** Events past the last seq would be overwritten by the next append, or be in its way. */
const tailFault = (store: Store, header: StoredHeader): Effect.Effect<SessionFault | null, SessionStoreError> =>
  Effect.gen(function* () {
    const fromSeq = header.lastSeq + 1
    const [row] = yield* store.read(header.id, { ...page, fromSeq, toSeq: Number.MAX_SAFE_INTEGER, limit: 1 })
    if (row === undefined) return null
    // Asked again: somebody may have appended since.
    const lastSeq = Option.match(yield* store.header(header.id), {
      onNone: () => row.seq,
      onSome: (now) => now.lastSeq
    })
    if (row.seq <= lastSeq) return null
    return { part: "event", seq: row.seq, reason: `expected no event after ${lastSeq}, got one at ${row.seq}` }
  })

const refoldFault = (refolds: ReadonlyArray<Refold>): Effect.Effect<SessionFault | null> =>
  Effect.gen(function* () {
    for (const { fold, projection, snapshot } of refolds) {
      const decoded = yield* Effect.either(decodeState(projection, snapshot.state))
      if (Either.isLeft(decoded)) return snapshotFault(snapshot, describe(decoded.left, "state"))
      const stored = yield* Effect.either(encodeState(projection, decoded.right))
      const folded = yield* Effect.either(encodeState(projection, fold.value))
      if (Either.isLeft(folded)) return snapshotFault(snapshot, describe(folded.left, "fold"))
      if (Either.isLeft(stored) || canonical(stored.right) !== canonical(folded.right)) {
        return snapshotFault(snapshot, `expected the fold of the events through ${snapshot.seq}, got another state`)
      }
    }
    return null
  })

/** JSON text with its keys sorted: equal for equal values. */
const canonical = (text: string): string => JSON.stringify(sorted(JSON.parse(text)))

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  // Wrapped, so that no array looks the same.
  return { entries: entries.map(([key, item]) => [key, sorted(item)]) }
}

const leaseFault = (lease: StoredLease): SessionFault | null => {
  const fault = (reason: string): SessionFault => ({ part: "lease", reason })
  if (!isCount(lease.epoch) || lease.epoch === 0) return fault(`expected an epoch from 1, got ${lease.epoch}`)
  if (!isMillis(lease.expiresAt)) return fault(`expected expiresAt in milliseconds, got ${lease.expiresAt}`)
  if (!isCount(lease.pid) || lease.host === "") {
    return fault(`expected a host and a pid, got ${JSON.stringify(lease.host)} and ${lease.pid}`)
  }
  return null
}
