import type { Connection } from "@effect/sql/SqlConnection"
import * as Effect from "effect/Effect"
import type { NewStoredEvent, SessionStore, Staging, StoredHeader } from "../SessionStore.js"
import { SessionStoreError } from "../SessionStore.js"
import type { NewType, Writes } from "./sqlCommit.js"
import type { Database } from "./sqlDatabase.js"
import { now, run } from "./sqlDatabase.js"
import type { Reclaim } from "./sqlReclaim.js"
import { makeInsertSession, nextNumber } from "./sqlSessions.js"

type Service = SessionStore["Type"]

const over = new SessionStoreError({
  reason: "unavailable",
  message: "expected an open import, this one was published, closed, or collected after it had been idle for too long"
})

/**
 * An import writes into a loose segment that carries the time of its last write. A crashed one is told from one at work, in
 * whatever process, by that time alone: `gc` takes a segment that was idle for longer than the age limit, and an import that
 * wakes up later finds it gone and fails.
 */
export const makeStage = (database: Database, writes: Writes, reclaim: Reclaim): Service["stage"] => {
  const { dialect } = database
  const insertLoose = dialect.text("INSERT INTO afterturn_loose_segments (segment, staged_at) VALUES (?, ?)")
  const touch = dialect.text(
    "UPDATE afterturn_loose_segments SET staged_at = ? WHERE segment = ? AND staged_at IS NOT NULL"
  )
  const abandon = dialect.text("UPDATE afterturn_loose_segments SET staged_at = NULL WHERE segment = ?")
  const adopt = dialect.text("DELETE FROM afterturn_loose_segments WHERE segment = ? AND staged_at IS NOT NULL")
  const insertSession = makeInsertSession(dialect)

  const openSegment = Effect.gen(function* () {
    const time = yield* now
    return yield* database.write((connection) =>
      Effect.tap(nextNumber(connection, dialect), (segment) => run(connection, insertLoose, [segment, time]))
    )
  })

  const close = (segment: number) =>
    // When the database does not take the deletion now, the events take up space until the next `gc`; nothing else is lost.
    Effect.ignore(
      Effect.zipRight(
        database.write((connection) => run(connection, abandon, [segment])),
        reclaim(segment)
      )
    )

  const writeEvents = Effect.fnUntraced(function* (
    connection: Connection,
    state: State,
    time: number,
    events: ReadonlyArray<NewStoredEvent>
  ) {
    if ((yield* run(connection, touch, [time, state.segment])) === 0) return yield* over
    const rows = events.map((event, index) => ({ segment: state.segment, seq: state.count + index, event }))
    yield* writes.events(connection, rows)
  })

  const publishSession = Effect.fnUntraced(function* (connection: Connection, state: State, header: Header) {
    if ((yield* run(connection, adopt, [state.segment])) === 0) return yield* over
    const { count, segment } = state
    yield* insertSession(connection, header, { segment, position: 0, fromSeq: 0, lastSeq: count - 1 })
    yield* writes.types(connection, Array.from(state.types.values()))
    return true
  })

  const whenOpen = <A, E>(state: State, use: Effect.Effect<A, E>): Effect.Effect<A, E | SessionStoreError> =>
    state.mutex.withPermits(1)(
      Effect.suspend((): Effect.Effect<A, E | SessionStoreError> => (state.open ? use : Effect.fail(over)))
    )

  const write = (state: State, events: ReadonlyArray<NewStoredEvent>) =>
    Effect.flatMap(now, (time) =>
      database.write(
        (connection) => writeEvents(connection, state, time, events),
        () => addStaged(state, events)
      )
    )

  const publish = (state: State, header: Header) =>
    database
      .write(
        (connection) => publishSession(connection, state, header),
        () => {
          state.open = false
        }
      )
      .pipe(
        Effect.catchIf(
          (error) => error === "id-taken",
          () => Effect.succeed(false)
        )
      )

  const staging = (state: State): Staging => ({
    write: (events) => whenOpen(state, events.length === 0 ? Effect.void : write(state, events)),
    publish: (header) => whenOpen(state, publish(state, header))
  })

  return Effect.acquireRelease(
    Effect.map(
      openSegment,
      (segment): State => ({
        segment,
        mutex: Effect.unsafeMakeSemaphore(1),
        types: new Map(),
        count: 0,
        open: true
      })
    ),
    (state) =>
      Effect.suspend(() => {
        const unpublished = state.open
        state.open = false
        return unpublished ? close(state.segment) : Effect.void
      })
  ).pipe(Effect.map(staging))
}

type Header = Omit<StoredHeader, "lastSeq">

interface State {
  readonly segment: number
  readonly mutex: Effect.Semaphore
  readonly types: Map<string, NewType>
  count: number
  open: boolean
}

const addStaged = (state: State, events: ReadonlyArray<NewStoredEvent>): void => {
  for (const { ignorable, type } of events) {
    const key = `${ignorable ? "?" : "!"}${type}`
    if (!state.types.has(key)) state.types.set(key, { owner: state.segment, type, ignorable, firstSeq: state.count })
    state.count++
  }
}
