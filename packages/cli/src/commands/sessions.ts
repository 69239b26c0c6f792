/**
 * `afterturn sessions …`
 *
 * @since 0.1.0
 */
import type { JobSpoolError } from "@afterturn/jobs/JobSpool"
import { JobSpool } from "@afterturn/jobs/JobSpool"
import { collectGarbage } from "@afterturn/jobs/JobSpool/Files"
import { Schedule } from "@afterturn/schedule/Schedule"
import type { SessionHeader, SessionId, SessionSummary } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { failure } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { outputFolder, spoolLayer } from "../Compose/Jobs.js"
import { scheduleLayer } from "../Compose/Schedule.js"
import * as Database from "../Database.js"
import { text } from "../internal/input.js"
import { inert, jsonText } from "../internal/json.js"
import { withExistingStore, withStore } from "../internal/withStore.js"
import { Output } from "../Output.js"
import * as Render from "../Render.js"
import * as Verify from "../Verify.js"

/**
 * Where the sessions are.
 *
 * @since 0.1.0
 * @category models
 */
export interface DbOption {
  readonly db: Option.Option<string>
}

/**
 * Which session is meant.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionOptions extends DbOption {
  readonly id: SessionId
}

/** The most that a page of a list has. */
const pageSize = 1000

/**
 * Lists sessions, newest first: a table, or an array of headers.
 *
 * @since 0.1.0
 * @category commands
 */
export const list = (
  options: DbOption & {
    readonly limit: Option.Option<number>
    readonly cwd: Option.Option<string>
    readonly parent: Option.Option<SessionId>
  }
): Handler =>
  withExistingStore(
    options.db,
    Effect.gen(function* () {
      const output = yield* Output
      const limit = Option.getOrElse(options.limit, () => Number.MAX_SAFE_INTEGER)
      const found = yield* pages({
        limit: Math.min(limit, pageSize),
        ...(Option.isSome(options.cwd) ? { cwd: options.cwd.value } : {}),
        ...(Option.isSome(options.parent) ? { parent: options.parent.value } : {})
      }).pipe(Stream.take(limit), Stream.runCollect, Effect.map(Chunk.toReadonlyArray))
      yield* output.line(output.json ? jsonText(found, output) : Render.sessions(found, output))
    })
  )

const pages = (query: {
  readonly limit: number
  readonly cwd?: string
  readonly parent?: SessionId
}): Stream.Stream<SessionSummary, SessionStoreError, SessionLog> =>
  Stream.unwrap(
    Effect.map(SessionLog, (log) =>
      Stream.paginateChunkEffect<string | undefined, SessionSummary, SessionStoreError, never>(undefined, (cursor) =>
        Effect.map(
          log.list(cursor === undefined ? query : { ...query, cursor }).pipe(
            // A cursor of the page before is always one.
            Effect.catchTag("InvalidCursor", Effect.die)
          ),
          ({ nextCursor, sessions }) => [Chunk.fromIterable(sessions), Option.fromNullable(nextCursor)]
        )
      )
    )
  )

/**
 * Shows a session: its header and events, one a line; or `{ header, events }`. Written as it is read, whatever its length.
 *
 * @since 0.1.0
 * @category commands
 */
export const show = ({ db, id }: SessionOptions): Handler =>
  withExistingStore(
    db,
    Effect.gen(function* () {
      const log = yield* SessionLog
      const output = yield* Output
      const header = yield* log.header(id)
      const events = log.read(id, { toSeq: header.lastSeq })
      if (output.json) {
        let separator = ""
        yield* output.write(`{"header":${jsonText(header, output)},"events":[`)
        yield* Stream.runForEachChunk(events, (chunk) => {
          const text = Chunk.toReadonlyArray(chunk)
            .map((event) => jsonText(event, output))
            .join(",")
          const write = output.write(separator + text)
          separator = ","
          return write
        })
        return yield* output.line("]}")
      }
      yield* output.line(`${Render.header(header, output)}\n`)
      yield* writeLines(Stream.map(events, (event) => Render.event(event, output)))
    })
  )

/** Writes lines in the pieces that they come in. */
const writeLines = <E, R>(lines: Stream.Stream<string, E, R>) =>
  Effect.flatMap(Output, (output) =>
    Stream.runForEachChunk(lines, (chunk) =>
      Chunk.isEmpty(chunk) ? Effect.void : output.line(Chunk.join(chunk, "\n"))
    )
  )

/**
 * Makes a session that begins with the events of another.
 *
 * @since 0.1.0
 * @category commands
 */
export const fork = (
  options: SessionOptions & {
    readonly at: Option.Option<number>
    readonly newId: Option.Option<SessionId>
    readonly title: Option.Option<string>
  }
): Handler =>
  withExistingStore(
    options.db,
    Effect.flatMap(SessionLog, (log) =>
      Effect.flatMap(
        log.fork(options.id, {
          ...(Option.isSome(options.at) ? { boundary: options.at.value } : {}),
          ...(Option.isSome(options.newId) ? { id: options.newId.value } : {}),
          ...(Option.isSome(options.title) ? { title: options.title.value } : {})
        }),
        writeHeader
      )
    )
  )

/** As `list` has it, with the last seq. */
const writeHeader = ({ id }: SessionHeader) =>
  Effect.gen(function* () {
    const output = yield* Output
    const log = yield* SessionLog
    yield* output.line(output.json ? jsonText(yield* log.header(id), output) : id)
  })

/**
 * Writes a session to stdout as JSON Lines.
 *
 * @since 0.1.0
 * @category commands
 */
export const exportSession = ({ db, id }: SessionOptions): Handler =>
  withExistingStore(
    db,
    Effect.gen(function* () {
      const log = yield* SessionLog
      const output = yield* Output
      yield* writeLines(Stream.map(log.exportJsonl(id), (line) => inert(line, output)))
    })
  )

/**
 * Stores an exported session, so that a host finds it when its reminders are due.
 *
 * @since 0.1.0
 * @category commands
 */
export const importSession = (
  options: DbOption & { readonly file: string; readonly newId: Option.Option<SessionId> }
): Handler =>
  withStore(
    options.db,
    Effect.gen(function* () {
      const log = yield* SessionLog
      const given = Option.isSome(options.newId) ? { id: options.newId.value } : {}
      const header = yield* log.importJsonl(text(options.file), given)
      yield* Effect.flatMap(Schedule, (schedule) => schedule.reindex(header.id)).pipe(
        Effect.provide(scheduleLayer),
        // What this release does not know it can't drive either, so that nobody has to be called for it.
        Effect.catchTag("UnknownEventType", () => Effect.void)
      )
      yield* writeHeader(header)
    })
  )

/**
 * Checks a session or all of them, and ends at the first fault.
 *
 * @since 0.1.0
 * @category commands
 */
export const verify = ({ db, id }: DbOption & { readonly id: Option.Option<SessionId> }): Handler =>
  withExistingStore(
    db,
    Effect.gen(function* () {
      const output = yield* Output
      const verified = Option.isSome(id)
        ? Stream.fromEffect(Verify.session(id.value))
        : Verify.all((error) => output.note(`not checked: ${error.message}`))
      if (output.json) {
        const all = yield* Stream.runCollect(verified)
        return yield* output.line(jsonText(Array.from(all), output))
      }
      yield* Stream.runForEach(verified, (one) => output.line(Render.verified(one)))
    })
  )

/**
 * Removes what no session refers to any more, and output of jobs that is older than it is kept.
 *
 * @since 0.1.0
 * @category commands
 */
export const gc = ({ db }: DbOption): Handler =>
  withExistingStore(
    db,
    Effect.gen(function* () {
      const store = yield* SessionStore
      const output = yield* Output
      const { events } = yield* store.gc
      const directory = yield* outputFolder(yield* Database.resolve(db))
      const jobOutputs = directory === undefined ? 0 : yield* asCliError(collectGarbage({ directory }))
      yield* output.line(
        output.json
          ? jsonText({ events, jobOutputs }, output)
          : `removed ${events} events and the output of ${jobOutputs} jobs`
      )
    })
  )

const asCliError = <A, R>(effect: Effect.Effect<A, JobSpoolError, R>) =>
  Effect.mapError(effect, ({ message }) => failure("job_output_unavailable", message))

/**
 * Removes a session that no process drives, with the output of its jobs.
 *
 * @since 0.1.0
 * @category commands
 */
export const remove = ({ db, id }: SessionOptions): Handler =>
  withExistingStore(
    db,
    Effect.gen(function* () {
      const log = yield* SessionLog
      const output = yield* Output
      yield* log.remove(id)
      // A later session of this name numbers its jobs from 1 again.
      const spool = spoolLayer(yield* Database.resolve(db), { keepsAll: true })
      yield* asCliError(
        Effect.provide(
          Effect.flatMap(JobSpool, (service) => service.remove(id)),
          spool
        )
      )
      yield* output.line(output.json ? jsonText({ removed: id }, output) : `removed ${id}`)
    })
  )
