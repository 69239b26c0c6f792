/**
 * SQLite's driver as the connection of an `@effect/sql` client, and its statements without one for the hot path. The driver answers
 * at once: an effect around each statement would cost more than the statement.
 */
import { SafeIntegers } from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import Sqlite from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export interface SqliteConnection {
  /** Takes the connection for as long as the scope lives: no transaction runs into another. */
  readonly reserve: Effect.Effect<Connection, never, Scope.Scope>
  /** Runs a step that nothing can come between, once the connection is free. */
  readonly exclusively: <A, E>(step: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** A statement, prepared once. Throws what the driver throws. */
  readonly prepare: (text: string) => Sqlite.Statement<Array<unknown>>
}

/** Texts of the store are few; those of others, who write their values into the text, may be many. */
const maxPrepared = 200

/** Opens a file, closed with the scope. What the driver throws on the way is a defect. */
export const open = (filename: string): Effect.Effect<SqliteConnection, never, Scope.Scope> =>
  Effect.gen(function* () {
    const database = yield* Effect.acquireRelease(
      Effect.sync(() => new Sqlite(filename)),
      (opened) => Effect.sync(() => opened.close())
    )
    const semaphore = yield* Effect.makeSemaphore(1)
    const prepare = preparing(database)
    const connection = connectionOver(database, prepare)
    return {
      prepare,
      exclusively: semaphore.withPermits(1),
      reserve: Effect.uninterruptibleMask((restore) =>
        Effect.zipRight(
          restore(semaphore.take(1)),
          Effect.as(
            Effect.addFinalizer(() => semaphore.release(1)),
            connection
          )
        )
      )
    }
  })

type Prepare = SqliteConnection["prepare"]

const preparing = (database: Sqlite.Database): Prepare => {
  const prepared = new Map<string, Sqlite.Statement<Array<unknown>>>()
  return (text) => {
    const known = prepared.get(text)
    if (known !== undefined) return known
    const statement = database.prepare<Array<unknown>>(text)
    prepared.set(text, statement)
    if (prepared.size > maxPrepared) prepared.delete(prepared.keys().next().value!)
    return statement
  }
}

const connectionOver = (database: Sqlite.Database, prepare: Prepare): Connection => {
  const attempt = <A>(step: (safeIntegers: boolean) => A): Effect.Effect<A, SqlError> =>
    Effect.withFiberRuntime((fiber) => {
      try {
        return Effect.succeed(step(Context.get(fiber.currentContext, SafeIntegers)))
      } catch (cause) {
        return Effect.fail(new SqlError({ cause, message: "Failed to execute statement" }))
      }
    })
  const rowsOf = (text: string, params: ReadonlyArray<unknown>) =>
    attempt((safeIntegers) => all(prepare(text), params, safeIntegers))
  return {
    execute: (text, params, transform) =>
      transform === undefined ? rowsOf(text, params) : Effect.map(rowsOf(text, params), transform),
    executeRaw: (text, params) =>
      attempt((safeIntegers) => {
        const statement = prepare(text)
        return statement.reader ? all(statement, params, safeIntegers) : statement.run(...params)
      }),
    executeValues: (text, params) =>
      attempt((safeIntegers) => {
        const statement = prepare(text)
        if (!statement.reader) return all(statement, params, safeIntegers)
        try {
          return all(statement.raw(true), params, safeIntegers) as ReadonlyArray<ReadonlyArray<unknown>>
        } finally {
          statement.raw(false)
        }
      }),
    executeUnprepared: (text, params, transform) => {
      const rows = attempt((safeIntegers) => all(database.prepare<Array<unknown>>(text), params, safeIntegers))
      return transform === undefined ? rows : Effect.map(rows, transform)
    },
    executeStream: () => Stream.die(new Error("SQLite's driver has no streams"))
  }
}

const all = (
  statement: Sqlite.Statement<Array<unknown>>,
  params: ReadonlyArray<unknown>,
  safeIntegers: boolean
  // biome-ignore lint/suspicious/noExplicitAny: rows are what the client's callers take them for
): ReadonlyArray<any> => {
  if (!statement.reader) {
    statement.run(...params)
    return []
  }
  // Said each time: a cached statement remembers it.
  return statement.safeIntegers(safeIntegers).all(...params)
}
