/**
 * The encoded driver under the session log: rows and transactions, no Schema, no subscribers. One contract suite runs over
 * every implementation. Applications use `SessionLog`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { SessionId } from "./SessionEvent.js"

/**
 * The store could not do what was asked; nothing of the operation is stored.
 *
 * - `busy`: others held the write lock for longer than the wait budget; try again
 * - `full`: no space is left on the device
 * - `read-only`: the file, the folder or the connection does not allow writing
 * - `not-a-database`: the file is no database, is empty, or is damaged; it was left untouched
 * - `newer-schema`: written by a newer version of this software; it was left untouched
 * - `damaged`: what is stored of a session contradicts itself; verification says where
 * - `unavailable`: anything else, see `cause`
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionStoreError extends Schema.TaggedError<SessionStoreError>(
  "@afterturn/session-log/SessionStoreError"
)("SessionStoreError", {
  reason: Schema.Literal("busy", "full", "read-only", "not-a-database", "newer-schema", "damaged", "unavailable"),
  message: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {}

/**
 * An event as rows hold it: `time` in milliseconds since the epoch, `data` and `sourceEventSeqs` as JSON text.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoredEvent {
  readonly seq: number
  readonly type: string
  readonly time: number
  readonly data: string
  readonly sourceEventSeqs: string | null
  readonly ignorable: boolean
}

/**
 * An event on its way in: the store gives it its seq.
 *
 * @since 0.1.0
 * @category models
 */
export type NewStoredEvent = Omit<StoredEvent, "seq">

/**
 * A header as rows hold it, with the seq of the last event (-1: none). `version` is whatever was stored.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoredHeader {
  readonly id: SessionId
  readonly version: number
  readonly createdAt: number
  readonly cwd: string | null
  readonly title: string | null
  readonly parent: SessionId | null
  readonly seedLength: number
  readonly delegationDepth: number
  readonly lastSeq: number
}

/**
 * Who holds a session's lease. `bootId`, `pid` and `startedAt` (of the process, in the host's own terms) tell whether a
 * holder on the same machine is provably dead.
 *
 * @since 0.1.0
 * @category models
 */
export interface LeaseHolder {
  readonly host: string
  readonly bootId: string
  readonly pid: number
  readonly startedAt: string
}

/**
 * A lease row. `epoch` grows with every change of holder; times in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoredLease extends LeaseHolder {
  readonly sessionId: SessionId
  readonly epoch: number
  readonly expiresAt: number
}

/**
 * An alarm row: when a session needs a host, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoredAlarm {
  readonly sessionId: SessionId
  readonly key: string
  readonly dueAt: number
}

/**
 * An alarm of the session of a request, set or (`null`) cleared.
 *
 * @since 0.1.0
 * @category models
 */
export type StoredAlarmChange = Pick<StoredAlarm, "key"> & { readonly dueAt: number | null }

/**
 * One atomic append. `expectedSeq` is the seq that the last stored event must have (-1: none); `epoch` is the lease under
 * which the caller writes, absent for a caller that holds none; `now` decides whether another's lease has expired. Alarms change with
 * the events, in their order; a request may have alarms only.
 *
 * @since 0.1.0
 * @category models
 */
export interface CommitRequest {
  readonly sessionId: SessionId
  readonly expectedSeq: number | undefined
  readonly epoch: number | undefined
  readonly now: number
  readonly events: ReadonlyArray<NewStoredEvent>
  readonly alarms?: ReadonlyArray<StoredAlarmChange> | undefined
}

/**
 * What became of one request of a commit. Requests of a commit succeed or are refused one by one, in order.
 *
 * - `conflict`: `expectedSeq` did not hold
 * - `leased`: the caller writes without a lease and another holds a live one
 * - `lease-lost`: the caller's lease was taken over or given up
 *
 * @since 0.1.0
 * @category models
 */
export type CommitResult =
  | { readonly _tag: "committed"; readonly firstSeq: number }
  | { readonly _tag: "not-found" }
  | { readonly _tag: "conflict"; readonly actualSeq: number }
  | { readonly _tag: "leased"; readonly lease: StoredLease }
  | { readonly _tag: "lease-lost" }

/**
 * A projection's state at a seq, as JSON text.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoredSnapshot {
  readonly key: string
  readonly version: number
  readonly seq: number
  readonly state: string
}

/**
 * Events on their way into a session that nobody sees until `publish`; closing the scope without it removes them. After either,
 * both members fail with `unavailable`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Staging {
  readonly write: (events: ReadonlyArray<NewStoredEvent>) => Effect.Effect<void, SessionStoreError>
  /** Makes the session visible, whole. `false`: the id is taken and nothing changed. */
  readonly publish: (header: Omit<StoredHeader, "lastSeq">) => Effect.Effect<boolean, SessionStoreError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionStore extends Context.Tag("@afterturn/session-log/SessionStore")<
  SessionStore,
  {
    /** Stores a new session without events. `false`: the id is taken. */
    readonly create: (header: Omit<StoredHeader, "lastSeq">) => Effect.Effect<boolean, SessionStoreError>
    /**
     * Stores a session whose first `header.seedLength` events are those of `header.parent`, shared, not copied.
     * `parent-not-found` also covers a parent with fewer events.
     */
    readonly fork: (
      header: Omit<StoredHeader, "lastSeq"> & { readonly parent: SessionId }
    ) => Effect.Effect<"forked" | "id-taken" | "parent-not-found", SessionStoreError>
    /** Opens a hidden session for import. */
    readonly stage: Effect.Effect<Staging, SessionStoreError, Scope.Scope>
    readonly header: (id: SessionId) => Effect.Effect<Option.Option<StoredHeader>, SessionStoreError>
    /** Headers, newest first (`createdAt`, then `id`, descending), strictly after `after`. */
    readonly list: (query: {
      readonly after: { readonly createdAt: number; readonly id: SessionId } | undefined
      readonly limit: number
      readonly cwd: string | undefined
      readonly parent: SessionId | undefined
    }) => Effect.Effect<ReadonlyArray<StoredHeader>, SessionStoreError>
    /**
     * Removes a session, its snapshots, its alarms and its lease; events that forks share stay. `false`: there was none. No lease is asked
     * for: that is the caller's business.
     */
    readonly remove: (id: SessionId) => Effect.Effect<boolean, SessionStoreError>
    /** Appends in one transaction; one result a request, in order. A failure stores nothing of any of them. */
    readonly commit: (
      requests: ReadonlyArray<CommitRequest>
    ) => Effect.Effect<ReadonlyArray<CommitResult>, SessionStoreError>
    /**
     * A page of events in seq order: from `fromSeq` through `toSeq`, of `types` when given, at most `limit` and, after the
     * first, at most about `maxBytes` of data. An empty page means that there are no more.
     */
    readonly read: (
      id: SessionId,
      page: {
        readonly fromSeq: number
        readonly toSeq: number
        readonly types: ReadonlyArray<string> | undefined
        readonly limit: number
        readonly maxBytes: number
      }
    ) => Effect.Effect<ReadonlyArray<StoredEvent>, SessionStoreError>
    /**
     * The event types that a session holds, each once, with the seq of its first event that is not ignorable, or of its first
     * event when all are.
     */
    readonly types: (
      id: SessionId
    ) => Effect.Effect<
      ReadonlyArray<{ readonly type: string; readonly firstSeq: number; readonly ignorable: boolean }>,
      SessionStoreError
    >
    readonly snapshot: (
      id: SessionId,
      key: string,
      version: number
    ) => Effect.Effect<Option.Option<StoredSnapshot>, SessionStoreError>
    readonly snapshots: (id: SessionId) => Effect.Effect<ReadonlyArray<StoredSnapshot>, SessionStoreError>
    /**
     * Stores a snapshot in place of the one that the key has, unless that one is of the same version at a later seq, the
     * session is gone, or it has no event of that seq.
     */
    readonly saveSnapshot: (id: SessionId, snapshot: StoredSnapshot) => Effect.Effect<void, SessionStoreError>
    readonly lease: (id: SessionId) => Effect.Effect<Option.Option<StoredLease>, SessionStoreError>
    /**
     * Takes the lease when it is free, expired at `now`, or still the one that `replaces` names (a holder known to be dead):
     * the new row under the next epoch. Otherwise the row that stands in the way.
     */
    readonly acquireLease: (request: {
      readonly sessionId: SessionId
      readonly holder: LeaseHolder
      readonly now: number
      readonly expiresAt: number
      readonly replaces: { readonly epoch: number } | undefined
    }) => Effect.Effect<
      { readonly _tag: "acquired" | "held"; readonly lease: StoredLease } | { readonly _tag: "not-found" },
      SessionStoreError
    >
    /** Extends a lease; `false`: it is no longer this epoch's. */
    readonly renewLease: (id: SessionId, epoch: number, expiresAt: number) => Effect.Effect<boolean, SessionStoreError>
    /** Gives a lease up, when it still is this epoch's. The epoch is remembered: the next holder gets a higher one. */
    readonly releaseLease: (id: SessionId, epoch: number) => Effect.Effect<void, SessionStoreError>
    /**
     * Sessions whose lease was not given up and has expired at `now`: their holders stopped without a word. Those that have waited
     * longest first.
     */
    readonly expiredLeases: (query: {
      readonly now: number
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<SessionId>, SessionStoreError>
    /** The alarms of a session, by key. */
    readonly alarms: (id: SessionId) => Effect.Effect<ReadonlyArray<StoredAlarm>, SessionStoreError>
    /**
     * Alarms due at or before `until` of sessions that no lease holds that is live at `now`, in order of `dueAt`, session and key,
     * strictly after `after`.
     */
    readonly dueAlarms: (query: {
      readonly until: number
      readonly now: number
      readonly limit: number
      readonly after?: StoredAlarm | undefined
    }) => Effect.Effect<ReadonlyArray<StoredAlarm>, SessionStoreError>
    /** When the earliest alarm strictly after an instant is due. */
    readonly nextAlarm: (after: number) => Effect.Effect<Option.Option<number>, SessionStoreError>
    /**
     * Sessions that another process appended to, as far as the store hears of it. It may miss some, and tell of one for nothing: a
     * reader polls as well.
     */
    readonly changed: Stream.Stream<SessionId>
    /** Removes what nothing refers to: staged imports that were never published, events of removed sessions. */
    readonly gc: Effect.Effect<{ readonly events: number }, SessionStoreError>
  }
>() {}
