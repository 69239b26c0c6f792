import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { SessionHeader, SessionId } from "../SessionEvent.js"
import type { ImportRejected, ReadError } from "../SessionLogError.js"
import { SessionExists } from "../SessionLogError.js"
import type { SessionStoreError, Staging } from "../SessionStore.js"
import type { Engine } from "./engine.js"
import { readableHeader } from "./engine.js"
import type { Importer } from "./importer.js"
import * as Import from "./importer.js"
import { pages } from "./read.js"
import { headerOf } from "./rows.js"

export const exportJsonl = (engine: Engine, id: SessionId): Stream.Stream<string, ReadError> =>
  Stream.unwrap(
    Effect.map(readableHeader(engine, id), (header) =>
      Stream.concat(
        Stream.succeed(JSON.stringify(headerOf(header))),
        Stream.map(
          pages(engine, id, { fromSeq: 0, toSeq: header.lastSeq, types: undefined, limit: Infinity }),
          (event) => JSON.stringify(event)
        )
      )
    )
  )

/** Closing the scope removes what was staged, unless it was published. */
export const importJsonl = <E, R>(
  engine: Engine,
  text: Stream.Stream<string, E, R>,
  options?: { readonly id?: SessionId }
): Effect.Effect<SessionHeader, E | ImportRejected | SessionExists | SessionStoreError, R> =>
  Effect.scoped(
    Effect.gen(function* () {
      const importer = Import.make(engine.registry, options?.id)
      const staging = yield* engine.store.stage
      yield* Stream.runForEach(text, (piece) => take(engine, staging, importer, importer.push(piece)))
      yield* take(engine, staging, importer, importer.end())
      const header = yield* importer.finish()
      yield* staging.write(importer.takeRows())
      if (!(yield* staging.publish(header))) return yield* new SessionExists({ sessionId: header.id })
      return headerOf(header)
    })
  )

/** Reads lines, writing what they hold whenever there is enough of it. */
const take = (
  engine: Engine,
  staging: Staging,
  importer: Importer,
  lines: ReadonlyArray<string>
): Effect.Effect<void, ImportRejected | SessionExists | SessionStoreError> =>
  Effect.gen(function* () {
    for (const line of lines) {
      const isFirst = importer.id() === undefined
      yield* importer.read(line)
      const id = importer.id()
      // Before gigabytes are staged in vain; `publish` has the last word.
      if (isFirst && id !== undefined && Option.isSome(yield* engine.store.header(id))) {
        return yield* new SessionExists({ sessionId: id })
      }
      if (importer.isFull()) yield* staging.write(importer.takeRows())
    }
    yield* importer.checkCarry()
  })
