/**
 * The session log: the one durable authority. A session is a header and a row of events; everything else is a fold of them.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import * as EventTypes from "./EventTypes.js"
import * as Host from "./Host.js"
import * as Services from "./internal/services.js"
import { Projections } from "./Projection.js"
import type { AlarmChange } from "./SessionAlarms.js"
import { SessionAlarms } from "./SessionAlarms.js"
import type { EventInput, SessionEvent, SessionHeader, SessionId, SessionSummary } from "./SessionEvent.js"
import { SessionLeases } from "./SessionLeases.js"
import type {
  AppendError,
  ImportRejected,
  InvalidCursor,
  InvalidForkBoundary,
  ReadError,
  SessionExists,
  SessionLeased,
  SessionNotFound,
  SessionVersionUnsupported
} from "./SessionLogError.js"
import * as MemoryStore from "./SessionStore/Memory.js"
import * as SqlStore from "./SessionStore/Sql.js"
import type { SessionStore, SessionStoreError } from "./SessionStore.js"

export type { AppendError, ReadError } from "./SessionLogError.js"
export {
  EventRejected,
  ImportRejected,
  InvalidCursor,
  InvalidForkBoundary,
  LeaseLost,
  SessionConflict,
  SessionExists,
  SessionLeased,
  SessionLogCorrupt,
  SessionNotFound,
  SessionVersionUnsupported,
  UnknownEventType
} from "./SessionLogError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface CreateOptions {
  /** Default: a new id that sorts by time. */
  readonly id?: SessionId
  readonly cwd?: string
  readonly title?: string
  readonly parent?: SessionId
  /** Default 0. */
  readonly delegationDepth?: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ListOptions {
  /** From `nextCursor` of the page before. */
  readonly cursor?: string
  /** 1 to 1000; default 50. */
  readonly limit?: number
  readonly cwd?: string
  readonly parent?: SessionId
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SessionPage {
  readonly sessions: ReadonlyArray<SessionSummary>
  /** Absent on the last page. */
  readonly nextCursor?: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  /** First seq, default 0. */
  readonly fromSeq?: number
  /** Last seq, default the last one stored when the read begins. */
  readonly toSeq?: number
  /** Only events of these types. */
  readonly types?: ReadonlyArray<string>
  /** At most this many events. */
  readonly limit?: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ForkOptions {
  /** The last seq that the child takes over; -1 for none. Default: the last point outside an open turn. */
  readonly boundary?: number
  /** Default: a new id. */
  readonly id?: SessionId
  /** Default: the parent's. */
  readonly cwd?: string
  /** Default: the parent's. */
  readonly title?: string
  /** Default: the parent's. */
  readonly delegationDepth?: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AppendOptions {
  /** The seq that the last stored event must have, -1 for none. */
  readonly expectedSeq?: number
  /** Alarms of the session to set or clear. */
  readonly alarms?: ReadonlyArray<AlarmChange>
}

/**
 * What can be tuned, each with its default.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionLogOptions {
  /**
   * How often a reader of `changes` looks for events of other processes, default 1 second. `Duration.infinity` for a store that no
   * other process writes.
   */
  readonly pollInterval?: Duration.DurationInput
  /** How long a lease lives without a heartbeat, default 15 seconds. Infinite: it never expires and has no heartbeat. */
  readonly leaseTtl?: Duration.DurationInput
  /** How often a held lease is renewed, default 5 seconds. */
  readonly heartbeatInterval?: Duration.DurationInput
  /** A transaction takes appends until it holds this many events, default 512 … */
  readonly maxBatchEvents?: number
  /** … or this many characters of data, default 4 Mi. One append is never split. */
  readonly maxBatchBytes?: number
  /** A page of a read holds at most this many events, default 256 … */
  readonly pageEvents?: number
  /** … and, after the first, about this many characters of data, default 4 Mi. */
  readonly pageBytes?: number
  /** How many sessions' checks are remembered, default 4,096. */
  readonly sessionCapacity?: number
  /** How many projected values are held, default 1,024. */
  readonly projectionCapacity?: number
  /** How many events are folded before a value is written to the store, default 500. */
  readonly snapshotEvery?: number
}

/**
 * The log of every session: what was appended is stored, and nothing else is.
 *
 * @since 0.1.0
 * @category tags
 */
export class SessionLog extends Context.Tag("@afterturn/session-log/SessionLog")<
  SessionLog,
  {
    /** Stores a new session without events. */
    readonly create: (options?: CreateOptions) => Effect.Effect<SessionHeader, SessionExists | SessionStoreError>

    /** The header of a session with the seq of its last event. */
    readonly header: (
      id: SessionId
    ) => Effect.Effect<SessionSummary, SessionNotFound | SessionVersionUnsupported | SessionStoreError>

    /** Sessions, newest first, a page at a time. Sessions of a newer version are left out. */
    readonly list: (options?: ListOptions) => Effect.Effect<SessionPage, InvalidCursor | SessionStoreError>

    readonly exists: (id: SessionId) => Effect.Effect<boolean, SessionStoreError>

    /** Removes a session that nobody drives. Events that its forks share stay with them. */
    readonly remove: (id: SessionId) => Effect.Effect<void, SessionNotFound | SessionLeased | SessionStoreError>

    /**
     * Appends events atomically under contiguous seqs and returns them as stored. When it returns they are durable (as far as
     * the store's durability goes). Appends of one session keep their order; appends of many fibers share a transaction.
     * An interrupted caller leaves all of its events or none. `expectedSeq` is the seq that the last stored event must have
     * (-1: none). `alarms` change in the same transaction; an append may consist of them alone. The data that comes back is frozen.
     * While this process drives the session, the append is made under its lease.
     */
    readonly append: (
      id: SessionId,
      events: ReadonlyArray<EventInput>,
      options?: AppendOptions
    ) => Effect.Effect<ReadonlyArray<SessionEvent>, AppendError>

    /**
     * Events in order, read in pages; nothing is held open between pulls. Rows, order and JSON are checked, data against Schemas
     * is not: that is for who wants typed data (`EventType.decode`), for projections and for `SessionVerify`.
     */
    readonly read: (id: SessionId, options?: ReadOptions) => Stream.Stream<SessionEvent, ReadError>

    /** The seq of the last event, -1 when there is none. */
    readonly lastSeq: (id: SessionId) => Effect.Effect<number, SessionNotFound | SessionStoreError>

    /**
     * The events from `fromSeq` (default 0), then those that follow as they are stored, by whatever process: each once, in
     * order. The reader's pace is the stream's: nothing is queued for it. Never ends by itself.
     */
    readonly changes: (id: SessionId, options?: { readonly fromSeq?: number }) => Stream.Stream<SessionEvent, ReadError>

    /**
     * A new session that begins with the parent's events through a boundary. The events are shared, not copied, and stay when
     * the parent is removed.
     */
    readonly fork: (
      id: SessionId,
      options?: ForkOptions
    ) => Effect.Effect<
      SessionHeader,
      SessionNotFound | SessionVersionUnsupported | SessionExists | InvalidForkBoundary | SessionStoreError
    >

    /** JSON Lines, without line breaks: the header first, then one event a line. */
    readonly exportJsonl: (id: SessionId) => Stream.Stream<string, ReadError>

    /**
     * Stores an exported session, from text in pieces of any size. Everything is checked first: the first bad line is named and
     * nothing is stored. An unknown event type is kept.
     */
    readonly importJsonl: <E, R>(
      text: Stream.Stream<string, E, R>,
      options?: { readonly id?: SessionId }
    ) => Effect.Effect<SessionHeader, E | ImportRejected | SessionExists | SessionStoreError, R>
  }
>() {}

/**
 * The services over a store, a registry of event types and a host.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: SessionLogOptions
): Layer.Layer<
  SessionLog | Projections | SessionLeases | SessionAlarms,
  never,
  SessionStore | EventTypes.EventTypes | Host.Host
> =>
  Layer.scopedContext(
    Effect.map(Services.make(options), ({ alarms, leases, log, projections }) =>
      Context.make(SessionLog, log).pipe(
        Context.add(Projections, projections),
        Context.add(SessionLeases, leases),
        Context.add(SessionAlarms, alarms)
      )
    )
  )

/**
 * The services over a store, with a registry of event types of their own; the registry and the store stay visible, for
 * capabilities that register types and for maintenance.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerOver = <Provided, E, R>(
  store: Layer.Layer<SessionStore | Provided, E, R>,
  options?: SessionLogOptions
): Layer.Layer<
  SessionLog | Projections | SessionLeases | SessionAlarms | EventTypes.EventTypes | SessionStore | Provided,
  E,
  R | Host.Host
> => layer(options).pipe(Layer.provideMerge(Layer.merge(EventTypes.layer, store)))

/**
 * Everything in memory: for tests, trials and sessions that need not outlive the process. Nobody else can write to it, so
 * nothing polls and leases have no heartbeat.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<
  SessionLog | Projections | SessionLeases | SessionAlarms | EventTypes.EventTypes | SessionStore
> = layerOver(MemoryStore.layer, { pollInterval: Duration.infinity, leaseTtl: Duration.infinity }).pipe(
  Layer.provide(Host.layer({ host: "memory", bootId: "", pid: 0, startedAt: "" }))
)

/**
 * Sessions in the database of an `@effect/sql` client of SQLite or PostgreSQL. `Host/Node` is the host of a Node process. For
 * a SQLite file of its own there is `layerSqlite` in `SessionLog/Sqlite`, which also sees to the file, its locks and its
 * durability.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSql = (
  options?: SessionLogOptions & SqlStore.Options
): Layer.Layer<
  SessionLog | Projections | SessionLeases | SessionAlarms | EventTypes.EventTypes | SessionStore,
  SessionStoreError,
  SqlClient | Host.Host
> => layerOver(SqlStore.layer(options), options)
