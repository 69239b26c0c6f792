import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Schema from "effect/Schema"
import { headerVersion, SessionId } from "../SessionEvent.js"
import type { ListOptions, SessionPage } from "../SessionLog.js"
import { InvalidCursor } from "../SessionLogError.js"
import type { SessionStoreError, StoredHeader } from "../SessionStore.js"
import type { Engine } from "./engine.js"
import { summaryOf } from "./rows.js"

const defaultLimit = 50
const maxLimit = 1000

export const list = (
  engine: Engine,
  options?: ListOptions
): Effect.Effect<SessionPage, InvalidCursor | SessionStoreError> =>
  Effect.gen(function* () {
    const after = options?.cursor === undefined ? undefined : yield* decodeCursor(options.cursor)
    const limit = clampLimit(options?.limit)
    // One more than asked for tells whether there is a next page.
    const rows = yield* engine.store.list({ after, limit: limit + 1, cwd: options?.cwd, parent: options?.parent })
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    return {
      sessions: page.filter((row) => row.version === headerVersion).map(summaryOf),
      ...(rows.length > limit && last !== undefined ? { nextCursor: encodeCursor(last) } : {})
    }
  })

const clampLimit = (limit: number | undefined): number =>
  limit === undefined || Number.isNaN(limit) ? defaultLimit : Math.min(Math.max(Math.trunc(limit), 1), maxLimit)

const Position = Schema.parseJson(Schema.Tuple(Schema.Int, SessionId))

const encodeCursor = (row: StoredHeader): string =>
  Encoding.encodeBase64Url(Schema.encodeSync(Position)([row.createdAt, row.id]))

const decodeCursor = (cursor: string) =>
  Encoding.decodeBase64UrlString(cursor).pipe(
    Either.flatMap(Schema.decodeEither(Position)),
    Either.map(([createdAt, id]) => ({ createdAt, id })),
    Either.mapLeft(() => new InvalidCursor({ cursor }))
  )
