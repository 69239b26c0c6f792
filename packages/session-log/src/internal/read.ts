import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { SessionEvent, SessionId } from "../SessionEvent.js"
import type { ReadOptions } from "../SessionLog.js"
import type { ReadError } from "../SessionLogError.js"
import { SessionNotFound } from "../SessionLogError.js"
import type { StoredEvent } from "../SessionStore.js"
import type { Engine } from "./engine.js"
import { readableLastSeq, requireHeader } from "./engine.js"
import { corrupt, decodeRow } from "./rows.js"

export interface Range {
  readonly fromSeq: number
  /** A seq that is stored. */
  readonly toSeq: number
  readonly types: ReadonlyArray<string> | undefined
  readonly limit: number
}

/**
 * One page of a range that is known to be stored: at least its first event, unless none is of `types`. Without `types` the page
 * begins at `fromSeq` and has no gap.
 */
export const readPage = (
  engine: Engine,
  id: SessionId,
  range: Range
): Effect.Effect<ReadonlyArray<SessionEvent>, ReadError> =>
  Effect.flatMap(
    engine.store.read(id, { ...range, limit: Math.min(range.limit, engine.pageEvents), maxBytes: engine.pageBytes }),
    (rows) => {
      if (rows.length === 0 && range.types === undefined) return nothingThere(engine, id, range)
      const events = decodePage(range, rows)
      return Either.isRight(events) ? Effect.succeed(events.right) : Effect.fail(corrupt(id, ...events.left))
    }
  )

/** The sound events before the first fault; the fault itself when there are none: the page after them begins with it. */
const decodePage = (
  range: Range,
  rows: ReadonlyArray<StoredEvent>
): Either.Either<ReadonlyArray<SessionEvent>, readonly [seq: number, reason: string]> => {
  const events: Array<SessionEvent> = []
  let next = range.fromSeq
  for (const row of rows) {
    const event = isInPlace(range, row.seq, next)
      ? decodeRow(row)
      : Either.left(`expected the event at ${next}, got one at ${row.seq}`)
    if (Either.isLeft(event)) {
      return events.length > 0
        ? Either.right(events)
        : Either.left([range.types === undefined ? next : row.seq, event.left])
    }
    events.push(event.right)
    next = row.seq + 1
  }
  return Either.right(events)
}

const isInPlace = (range: Range, seq: number, next: number): boolean =>
  range.types === undefined ? seq === next : seq >= next && seq <= range.toSeq

/** No event where one was stored: the session was removed meanwhile, or it is damaged. */
const nothingThere = (engine: Engine, id: SessionId, range: Range): Effect.Effect<never, ReadError> =>
  Effect.flatMap(requireHeader(engine, id), (header) =>
    Effect.fail(
      header.lastSeq < range.toSeq
        ? // Another session has the id now.
          new SessionNotFound({ sessionId: id })
        : corrupt(id, range.fromSeq, `expected the event at ${range.fromSeq}, got none`)
    )
  )

export const read = (engine: Engine, id: SessionId, options?: ReadOptions): Stream.Stream<SessionEvent, ReadError> =>
  Stream.unwrap(
    Effect.map(readableLastSeq(engine, id), (lastSeq) =>
      pages(engine, id, {
        fromSeq: Math.max(options?.fromSeq ?? 0, 0),
        toSeq: Math.min(options?.toSeq ?? lastSeq, lastSeq),
        types: options?.types,
        limit: options?.limit ?? Infinity
      })
    )
  )

/** Nothing is held between pulls: each page is a query of its own. */
export const pages = (engine: Engine, id: SessionId, range: Range): Stream.Stream<SessionEvent, ReadError> =>
  Stream.paginateChunkEffect(range, (rest) => {
    if (rest.fromSeq > rest.toSeq || rest.limit <= 0) {
      return Effect.succeed([Chunk.empty<SessionEvent>(), Option.none<Range>()] as const)
    }
    return Effect.map(readPage(engine, id, rest), (events) => {
      const last = events.at(-1)
      const following: Range =
        last === undefined
          ? { ...rest, limit: 0 }
          : { ...rest, fromSeq: last.seq + 1, limit: rest.limit - events.length }
      const isOver = following.fromSeq > following.toSeq || following.limit <= 0
      return [Chunk.unsafeFromArray(events), isOver ? Option.none() : Option.some(following)] as const
    })
  })
