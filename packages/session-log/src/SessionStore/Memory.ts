/**
 * A session store in memory: for tests, trials and sessions that need not outlive the process.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { OrderedAlarms } from "../internal/alarms.js"
import type { Head, LeaseRow, TypeRow } from "../internal/commit.js"
import { blocks, decide, eventSize, storedLease, strictest } from "../internal/commit.js"
import type { Position } from "../internal/ordered.js"
import { insert, newestFirst, remove } from "../internal/ordered.js"
import type { SessionId } from "../SessionEvent.js"
import type {
  CommitRequest,
  CommitResult,
  NewStoredEvent,
  Staging,
  StoredAlarm,
  StoredEvent,
  StoredHeader,
  StoredSnapshot
} from "../SessionStore.js"
import { SessionStore, SessionStoreError } from "../SessionStore.js"

type Header = Omit<StoredHeader, "lastSeq">
type Page = Parameters<(typeof SessionStore)["Service"]["read"]>[1]
type ListQuery = Parameters<(typeof SessionStore)["Service"]["list"]>[0]
type AcquireRequest = Parameters<(typeof SessionStore)["Service"]["acquireLease"]>[0]

interface Session {
  readonly header: Header
  readonly events: Array<StoredEvent>
  /** By type and whether ignorable. */
  readonly types: Map<string, TypeRow>
  readonly snapshots: Map<string, StoredSnapshot>
  /** By key. */
  readonly alarms: Map<string, StoredAlarm>
  lease: LeaseRow | undefined
}

interface State {
  readonly sessions: Map<string, Session>
  readonly all: Array<Position>
  readonly byCwd: Map<string, Array<Position>>
  readonly byParent: Map<string, Array<Position>>
  readonly alarms: OrderedAlarms
  /** Of the whole store, so that a session created anew under an old id never repeats an epoch. */
  epoch: number
}

/**
 * A new, empty store.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<SessionStore> = Layer.sync(SessionStore, () => {
  const state: State = {
    sessions: new Map(),
    all: [],
    byCwd: new Map(),
    byParent: new Map(),
    alarms: new OrderedAlarms(),
    epoch: 0
  }
  const session = (id: SessionId) => state.sessions.get(id)
  return {
    create: (header) => Effect.sync(() => add(state, emptySession(header))),
    fork: (header) => Effect.sync(() => fork(state, header)),
    stage: stage(state),
    header: (id) => Effect.sync(() => Option.map(Option.fromNullable(session(id)), storedHeader)),
    list: (query) => Effect.sync(() => list(state, query)),
    remove: (id) => Effect.sync(() => removeSession(state, id)),
    commit: (requests) => Effect.sync(() => requests.map((request) => commit(state, request))),
    read: (id, page) => Effect.sync(() => readPage(session(id)?.events ?? [], page)),
    types: (id) => Effect.sync(() => strictest(session(id)?.types.values() ?? [])),
    snapshot: (id, key, version) =>
      Effect.sync(() =>
        Option.filter(Option.fromNullable(session(id)?.snapshots.get(key)), (found) => found.version === version)
      ),
    snapshots: (id) => Effect.sync(() => Array.from(session(id)?.snapshots.values() ?? []).sort(byKey)),
    saveSnapshot: (id, snapshot) => Effect.sync(() => saveSnapshot(session(id), snapshot)),
    lease: (id) =>
      Effect.sync(() => {
        const row = session(id)?.lease
        return Option.fromNullable(row === undefined ? undefined : storedLease(id, row))
      }),
    acquireLease: (request) => Effect.sync(() => acquireLease(state, request)),
    renewLease: (id, epoch, expiresAt) =>
      Effect.sync(() => updateLease(session(id), epoch, (row) => ({ ...row, expiresAt }))),
    releaseLease: (id, epoch) =>
      Effect.sync(() => {
        updateLease(session(id), epoch, (row) => ({ ...row, holder: null }))
      }),
    expiredLeases: (query) => Effect.sync(() => expiredLeases(state, query)),
    alarms: (id) => Effect.sync(() => Array.from(session(id)?.alarms.values() ?? []).sort(byKey)),
    dueAlarms: (query) => Effect.sync(() => dueAlarms(state, query)),
    nextAlarm: (after) =>
      Effect.sync(() => {
        const [next] = state.alarms.from(after)
        return Option.map(Option.fromNullable(next), ({ dueAt }) => dueAt)
      }),
    changed: Stream.empty,
    // Closing a staging's scope drops it, and the collector of the runtime does the rest.
    gc: Effect.succeed({ events: 0 })
  }
})

const emptySession = (header: Header): Session => ({
  header,
  events: [],
  types: new Map(),
  snapshots: new Map(),
  alarms: new Map(),
  lease: undefined
})

const storedHeader = (session: Session): StoredHeader => ({ ...session.header, lastSeq: session.events.length - 1 })

const byKey = (a: { readonly key: string }, b: { readonly key: string }): number => (a.key < b.key ? -1 : 1)

const add = (state: State, session: Session): boolean => {
  const { cwd, id, parent } = session.header
  if (state.sessions.has(id)) return false
  state.sessions.set(id, session)
  insert(state.all, session.header)
  if (cwd !== null) insert(bucket(state.byCwd, cwd), session.header)
  if (parent !== null) insert(bucket(state.byParent, parent), session.header)
  return true
}

const bucket = (index: Map<string, Array<Position>>, key: string): Array<Position> => {
  const present = index.get(key)
  if (present !== undefined) return present
  const fresh: Array<Position> = []
  index.set(key, fresh)
  return fresh
}

const removeSession = (state: State, id: SessionId): boolean => {
  const session = state.sessions.get(id)
  if (session === undefined) return false
  const { cwd, parent } = session.header
  state.sessions.delete(id)
  remove(state.all, session.header)
  if (cwd !== null) removeFrom(state.byCwd, cwd, session.header)
  if (parent !== null) removeFrom(state.byParent, parent, session.header)
  for (const alarm of session.alarms.values()) state.alarms.remove(alarm)
  return true
}

const removeFrom = (index: Map<string, Array<Position>>, key: string, position: Position): void => {
  const entries = index.get(key)
  if (entries === undefined) return
  remove(entries, position)
  if (entries.length === 0) index.delete(key)
}

/** The child's array holds the parent's event objects: pointers are copied, events are not. */
const fork = (state: State, header: Header & { readonly parent: SessionId }) => {
  if (state.sessions.has(header.id)) return "id-taken" as const
  const parent = state.sessions.get(header.parent)
  if (parent === undefined || parent.events.length < header.seedLength) return "parent-not-found" as const
  const inherited = Array.from(parent.types).filter(([, row]) => row.firstSeq < header.seedLength)
  add(state, {
    ...emptySession(header),
    events: parent.events.slice(0, header.seedLength),
    types: new Map(inherited)
  })
  return "forked" as const
}

const append = (session: Session, events: ReadonlyArray<NewStoredEvent>): void => {
  for (const event of events) {
    const stored = { ...event, seq: session.events.length }
    session.events.push(stored)
    const key = `${event.ignorable ? "ignorable" : "required"} ${event.type}`
    if (!session.types.has(key)) {
      session.types.set(key, { type: event.type, firstSeq: stored.seq, ignorable: event.ignorable })
    }
  }
}

const commit = (state: State, request: CommitRequest): CommitResult => {
  const session = state.sessions.get(request.sessionId)
  const head: Head | undefined = session && { lastSeq: session.events.length - 1, lease: session.lease }
  const result = decide(request, head)
  if (result._tag === "committed") {
    append(session!, request.events)
    for (const change of request.alarms ?? []) setAlarm(state, session!, { ...change, sessionId: request.sessionId })
  }
  return result
}

const setAlarm = (
  state: State,
  session: Session,
  { dueAt, key, sessionId }: Omit<StoredAlarm, "dueAt"> & { readonly dueAt: number | null }
): void => {
  const present = session.alarms.get(key)
  if (present !== undefined) state.alarms.remove(present)
  if (dueAt === null) {
    session.alarms.delete(key)
    return
  }
  const alarm: StoredAlarm = { sessionId, key, dueAt }
  session.alarms.set(key, alarm)
  state.alarms.add(alarm)
}

const dueAlarms = (
  state: State,
  { after, limit, now, until }: Parameters<(typeof SessionStore)["Service"]["dueAlarms"]>[0]
): ReadonlyArray<StoredAlarm> => {
  const found: Array<StoredAlarm> = []
  if (limit <= 0) return found
  for (const alarm of state.alarms.from(after ?? Number.NEGATIVE_INFINITY)) {
    if (alarm.dueAt > until) break
    const lease = state.sessions.get(alarm.sessionId)?.lease
    if (lease !== undefined && lease.holder !== null && lease.expiresAt > now) continue
    found.push(alarm)
    if (found.length === limit) break
  }
  return found
}

const readPage = (events: ReadonlyArray<StoredEvent>, page: Page): ReadonlyArray<StoredEvent> => {
  const wanted = page.types === undefined ? undefined : new Set(page.types)
  const last = Math.min(page.toSeq, events.length - 1)
  const found: Array<StoredEvent> = []
  let bytes = 0
  for (let seq = Math.max(page.fromSeq, 0); seq <= last && found.length < page.limit; seq++) {
    const event = events[seq]!
    if (wanted !== undefined && !wanted.has(event.type)) continue
    if (found.length > 0 && bytes >= page.maxBytes) break
    bytes += eventSize(event)
    found.push(event)
  }
  return found
}

const list = (state: State, query: ListQuery): ReadonlyArray<StoredHeader> => {
  const entries =
    query.parent !== undefined
      ? state.byParent.get(query.parent)
      : query.cwd !== undefined
        ? state.byCwd.get(query.cwd)
        : state.all
  const found: Array<StoredHeader> = []
  if (query.limit <= 0) return found
  for (const id of newestFirst(entries ?? [], query.after)) {
    const session = state.sessions.get(id)!
    if (query.cwd !== undefined && session.header.cwd !== query.cwd) continue
    found.push(storedHeader(session))
    if (found.length === query.limit) break
  }
  return found
}

/** A snapshot past the last event was taken of an earlier session under the same id. */
const saveSnapshot = (session: Session | undefined, snapshot: StoredSnapshot): void => {
  if (session === undefined || snapshot.seq >= session.events.length) return
  const present = session.snapshots.get(snapshot.key)
  if (present !== undefined && present.version === snapshot.version && present.seq > snapshot.seq) return
  session.snapshots.set(snapshot.key, snapshot)
}

const acquireLease = (state: State, request: AcquireRequest) => {
  const session = state.sessions.get(request.sessionId)
  if (session === undefined) return { _tag: "not-found" } as const
  if (blocks(session.lease, request)) {
    return { _tag: "held", lease: storedLease(request.sessionId, session.lease!)! } as const
  }
  const epoch = ++state.epoch
  session.lease = { epoch, holder: request.holder, expiresAt: request.expiresAt }
  return {
    _tag: "acquired",
    lease: { sessionId: request.sessionId, epoch, ...request.holder, expiresAt: request.expiresAt }
  } as const
}

const expiredLeases = (
  state: State,
  { limit, now }: { readonly limit: number; readonly now: number }
): ReadonlyArray<SessionId> =>
  Array.from(state.sessions.values())
    .flatMap(({ header: { id }, lease }) => (lease === undefined ? [] : (storedLease(id, lease) ?? [])))
    .filter(({ expiresAt }) => expiresAt <= now)
    .sort((a, b) => a.expiresAt - b.expiresAt || (a.sessionId < b.sessionId ? -1 : 1))
    .slice(0, Math.max(limit, 0))
    .map(({ sessionId }) => sessionId)

const updateLease = (session: Session | undefined, epoch: number, update: (row: LeaseRow) => LeaseRow): boolean => {
  const row = session?.lease
  if (session === undefined || row === undefined || row.holder === null || row.epoch !== epoch) return false
  session.lease = update(row)
  return true
}

const stagingOver = new SessionStoreError({
  reason: "unavailable",
  message: "expected an open import, this one was published or closed already"
})

const stage = (state: State): Effect.Effect<Staging, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync((): { readonly staging: Staging; readonly close: () => void } => {
      let events: Array<NewStoredEvent> | undefined = []
      const whenOpen = <A>(use: (events: Array<NewStoredEvent>) => A) =>
        Effect.suspend(() => (events === undefined ? Effect.fail(stagingOver) : Effect.succeed(use(events))))
      return {
        close: () => {
          events = undefined
        },
        staging: {
          write: (batch) =>
            whenOpen((staged) => {
              for (const event of batch) staged.push(event)
            }),
          publish: (header) =>
            whenOpen((staged) => {
              const session = emptySession(header)
              append(session, staged)
              const published = add(state, session)
              if (published) events = undefined
              return published
            })
        }
      }
    }),
    (opened) => Effect.sync(opened.close)
  ).pipe(Effect.map((opened) => opened.staging))
