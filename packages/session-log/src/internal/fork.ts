import * as Effect from "effect/Effect"
import type { SessionHeader, SessionId } from "../SessionEvent.js"
import { headerVersion } from "../SessionEvent.js"
import type { ForkOptions } from "../SessionLog.js"
import type { SessionVersionUnsupported } from "../SessionLogError.js"
import { InvalidForkBoundary, SessionExists, SessionNotFound } from "../SessionLogError.js"
import type { SessionStoreError, StoredEvent, StoredHeader } from "../SessionStore.js"
import type { Engine } from "./engine.js"
import { readableHeader } from "./engine.js"
import * as Id from "./id.js"
import { now } from "./now.js"
import { headerOf } from "./rows.js"

type ForkError = SessionNotFound | SessionVersionUnsupported | SessionExists | InvalidForkBoundary | SessionStoreError

export const fork = (engine: Engine, id: SessionId, options?: ForkOptions): Effect.Effect<SessionHeader, ForkError> =>
  Effect.gen(function* () {
    const parent = yield* readableHeader(engine, id)
    const boundary = options?.boundary ?? (yield* lastOutsideBracket(engine, parent))
    if (!Number.isInteger(boundary) || boundary < -1 || boundary > parent.lastSeq) {
      return yield* new InvalidForkBoundary({ sessionId: id, boundary, lastSeq: parent.lastSeq })
    }
    const header = {
      id: options?.id ?? (yield* Id.make),
      version: headerVersion,
      createdAt: yield* now,
      cwd: options?.cwd ?? parent.cwd,
      title: options?.title ?? parent.title,
      parent: id,
      seedLength: boundary + 1,
      delegationDepth: options?.delegationDepth ?? parent.delegationDepth
    }
    switch (yield* engine.store.fork(header)) {
      case "forked":
        return headerOf(header)
      case "id-taken":
        return yield* new SessionExists({ sessionId: header.id })
      case "parent-not-found":
        return yield* new SessionNotFound({ sessionId: id })
    }
  })

/** Windows before the end, each wider than the one after it: the last bracket is usually near. */
const firstWindow = 256

/**
 * The last seq that is in no open stretch: the last event of all, unless the last event that opens or closes one opens it.
 */
const lastOutsideBracket = (engine: Engine, parent: StoredHeader): Effect.Effect<number, SessionStoreError> =>
  Effect.gen(function* () {
    const bracketed = engine.registry.bracketed()
    if (bracketed.length === 0) return parent.lastSeq
    const types = bracketed.map((type) => type.type)
    let toSeq = parent.lastSeq
    for (let width = firstWindow; toSeq >= 0; width *= 4) {
      const fromSeq = Math.max(toSeq - width + 1, 0)
      const last = yield* lastOf(engine, parent.id, types, fromSeq, toSeq)
      if (last !== undefined) {
        return engine.registry.get(last.type)?.bracket === "open" ? last.seq - 1 : parent.lastSeq
      }
      toSeq = fromSeq - 1
    }
    return parent.lastSeq
  })

const lastOf = (
  engine: Engine,
  id: SessionId,
  types: ReadonlyArray<string>,
  fromSeq: number,
  toSeq: number
): Effect.Effect<StoredEvent | undefined, SessionStoreError> =>
  Effect.gen(function* () {
    let last: StoredEvent | undefined
    let next = fromSeq
    while (true) {
      const page = { fromSeq: next, toSeq, types, limit: engine.pageEvents, maxBytes: engine.pageBytes }
      const rows = yield* engine.store.read(id, page)
      if (rows.length === 0) return last
      last = rows[rows.length - 1]!
      next = last.seq + 1
    }
  })
