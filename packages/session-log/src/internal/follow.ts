import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { SessionEvent, SessionId } from "../SessionEvent.js"
import type { ReadError } from "../SessionLogError.js"
import { SessionNotFound } from "../SessionLogError.js"
import type { Engine } from "./engine.js"
import { readableHeader, readableLastSeq } from "./engine.js"
import { readPage } from "./read.js"
import type { Watcher } from "./tracked.js"
import { signal } from "./tracked.js"

/**
 * The events from `fromSeq`, then those that follow. A cursor over the store: it reads to the end, waits until something may
 * have been stored, and reads on. So nothing is queued, however slow the reader is.
 */
export const follow = (
  engine: Engine,
  id: SessionId,
  options: { readonly fromSeq: number; readonly types: ReadonlyArray<string> | undefined }
): Stream.Stream<SessionEvent, ReadError> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      yield* readableHeader(engine, id)
      const watcher = yield* watch(engine, id)
      const next = Math.max(options.fromSeq, 0)
      const cursor: Cursor = { engine, id, watcher, types: options.types, next, seen: -1 }
      return Stream.repeatEffectChunk(nextPage(cursor))
    })
  )

interface Cursor {
  readonly engine: Engine
  readonly id: SessionId
  readonly watcher: Watcher
  readonly types: ReadonlyArray<string> | undefined
  next: number
  /** The highest seq known to be stored. */
  seen: number
}

const watch = (engine: Engine, id: SessionId): Effect.Effect<Watcher, never, Scope.Scope> =>
  Effect.gen(function* () {
    const tracked = engine.tracker.of(id)
    const watcher: Watcher = { lastSeq: -1, dirty: false, wake: undefined }
    yield* Effect.acquireRelease(
      Effect.sync(() => tracked.watchers.add(watcher)),
      () => Effect.sync(() => tracked.watchers.delete(watcher))
    )
    // Other processes append too, and do not tell.
    if (engine.pollMillis !== Infinity) {
      yield* Effect.sleep(engine.pollMillis).pipe(
        Effect.zipRight(Effect.sync(() => signal(watcher, -1))),
        Effect.forever,
        Effect.forkScoped
      )
    }
    return watcher
  })

const nextPage = (cursor: Cursor): Effect.Effect<Chunk.Chunk<SessionEvent>, ReadError> =>
  Effect.gen(function* () {
    while (true) {
      // Before the look at the store: what is stored after it sets the flag again.
      cursor.watcher.dirty = false
      const { next, watcher } = cursor
      const lastSeq = watcher.lastSeq >= next ? watcher.lastSeq : yield* readableLastSeq(cursor.engine, cursor.id)
      // Events are never taken back: another session has the id now.
      if (lastSeq < cursor.seen) return yield* new SessionNotFound({ sessionId: cursor.id })
      cursor.seen = lastSeq
      if (lastSeq >= next) {
        const range = { fromSeq: next, toSeq: lastSeq, types: cursor.types, limit: Infinity }
        const events = yield* readPage(cursor.engine, cursor.id, range)
        const last = events.at(-1)
        cursor.next = (last === undefined ? lastSeq : last.seq) + 1
        if (last !== undefined) return Chunk.unsafeFromArray(events)
      } else if (!watcher.dirty) {
        yield* wait(watcher)
      }
    }
  })

const wait = (watcher: Watcher): Effect.Effect<void> =>
  Effect.async((resume) => {
    watcher.wake = () => resume(Effect.void)
    return Effect.sync(() => {
      watcher.wake = undefined
    })
  })
