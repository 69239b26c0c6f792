import type { SqlClient } from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { SessionStoreError } from "../SessionStore.js"
import type { Dialect } from "./dialect.js"
import { fromSqlError, isConnectionLoss } from "./sqlErrors.js"

export type Row = { readonly [column: string]: unknown }

/** A database with its transactions: statements run on the connection that `body` is given, and on no other. */
export interface Database {
  readonly dialect: Dialect
  /** The database's clock as an expression, where leases go by it. `undefined`: they go by the caller's. */
  readonly leaseClock: string | undefined
  /** One or more reads on one connection. */
  readonly read: <A>(
    body: (connection: Connection) => Effect.Effect<A, SqlError>
  ) => Effect.Effect<A, SessionStoreError>
  /**
   * A write transaction. Waiting for the write lock can be interrupted; once begun it runs to its end, so that an interrupted caller never
   * leaves half of it or an open lock. Any failure rolls back, that of the COMMIT included. Begins anew while the database is
   * busy or its server cannot be reached: `body` may run more than once, but is stored once: where a COMMIT was not answered, the
   * server is asked what became of it. `committed` runs right after the COMMIT, where no interruption comes between.
   */
  readonly write: <A, E = never>(
    body: (connection: Connection) => Effect.Effect<A, E | SqlError>,
    committed?: (value: A) => void
  ) => Effect.Effect<A, Exclude<E, SqlError> | SessionStoreError>
  /** Tries again while the database is busy or its server cannot be reached, until the wait budget is spent. */
  readonly retryBusy: <A, E, R>(attempt: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const query = (
  connection: Connection,
  text: string,
  params: ReadonlyArray<unknown>
): Effect.Effect<ReadonlyArray<Row>, SqlError> => connection.execute(text, params, undefined)

/** The present time as the columns hold it: a clock may give fractions, which an integer column refuses or keeps. */
export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, Math.floor)

/** Runs a statement that answers no rows; the number of rows that it changed. */
export const run = (
  connection: Connection,
  text: string,
  params: ReadonlyArray<unknown>
): Effect.Effect<number, SqlError> => Effect.map(connection.executeRaw(text, params), changedRows)

const changedRows = (result: unknown): number => {
  const counts = result as { readonly changes?: number; readonly rowCount?: number }
  return counts.changes ?? counts.rowCount ?? 0
}

/** Nothing of the operation is stored, and it may well succeed in a moment. */
const passes = (error: unknown): boolean =>
  error instanceof SessionStoreError && (error.reason === "busy" || isConnectionLoss(error.cause))

/** Tries again while the database is busy or away. It sleeps on `Clock`, with jitter, so that only the caller is held up. */
export const retryBusy = (budget: Duration.DurationInput) => {
  const schedule = Schedule.exponential("20 millis", 2).pipe(
    Schedule.union(Schedule.spaced("100 millis")),
    Schedule.jittered,
    Schedule.upTo(budget)
  )
  return <A, E, R>(attempt: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.catchAll(attempt, (error) =>
      passes(error) ? Effect.retry(attempt, { while: passes, schedule }) : Effect.fail(error)
    )
}

export interface DatabaseOptions {
  /** Default 10 seconds. */
  readonly busyTimeout?: Duration.DurationInput | undefined
  /** Default: the database's, where it has one. */
  readonly leaseClock?: "caller" | "database" | undefined
}

export const make = (sql: SqlClient, dialect: Dialect, options: DatabaseOptions = {}): Database => {
  const busyTimeout = options.busyTimeout ?? "10 seconds"
  const retry = retryBusy(busyTimeout)
  const typed = <A, E>(attempt: Effect.Effect<A, E | SqlError>) =>
    Effect.mapError(attempt, (error) =>
      error instanceof SqlError ? fromSqlError(error) : (error as Exclude<E, SqlError>)
    )
  // PostgreSQL's pool never gets back a connection that came for an interrupted caller: there the wait runs to its end.
  const reserve = dialect.name === "pg" ? Effect.uninterruptible(sql.reserve) : sql.reserve
  const onConnection = <A, E>(body: (connection: Connection) => Effect.Effect<A, E>) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Scope.make(), (scope) =>
        Effect.onExit(Effect.flatMap(restore(Scope.extend(reserve, scope)), body), (exit) => Scope.close(scope, exit))
      )
    )
  const askOutcome: AskOutcome = (xid) =>
    retry(
      Effect.flatMap(
        typed(onConnection((connection) => query(connection, dialect.outcome ?? "", [xid]))),
        ([row]): Effect.Effect<unknown, SessionStoreError> =>
          row?.status === "in progress" ? Effect.fail(stillInProgress) : Effect.succeed(row?.status)
      )
    )
  return {
    dialect,
    leaseClock: options.leaseClock === "caller" ? undefined : dialect.clock,
    retryBusy: retry,
    read: (body) => retry(typed(onConnection(body))),
    write: (body, committed) => {
      const transact = (connection: Connection) => transaction(dialect, connection, body(connection), askOutcome)
      return retry(
        typed(
          onConnection(
            committed === undefined ? transact : (connection) => Effect.map(transact(connection), tapped(committed))
          )
        )
      )
    }
  }
}

const tapped =
  <A>(observe: (value: A) => void) =>
  (value: A): A => {
    observe(value)
    return value
  }

/** `committed`, `aborted`, or something else where the server cannot tell any more. */
type AskOutcome = (xid: unknown) => Effect.Effect<unknown, SessionStoreError>

const stillInProgress = new SessionStoreError({ reason: "busy", message: "expected the end of a transaction" })

const outcomeUnknown = (cause: SqlError): SqlError =>
  new SqlError({
    message: cause.message,
    cause: new SessionStoreError({
      reason: "unavailable",
      message:
        "the connection was lost during COMMIT and the server could not be asked whether it was done; look before you try again"
    })
  })

const transaction = <A, E>(
  dialect: Dialect,
  connection: Connection,
  body: Effect.Effect<A, E>,
  askOutcome: AskOutcome
): Effect.Effect<A, E | SqlError> =>
  Effect.flatMap(connection.executeRaw(dialect.begin, []), (begun) =>
    Effect.zipLeft(body, commit(dialect, connection, begun, askOutcome))
  ).pipe(
    // A ROLLBACK fails where the database has rolled back already, or is gone: nothing is lost with its error.
    Effect.onError(() => Effect.ignore(connection.executeRaw("ROLLBACK", [])))
  )

/** A connection that was lost before the answer came says nothing about what was asked. */
const commit = (
  dialect: Dialect,
  connection: Connection,
  begun: unknown,
  askOutcome: AskOutcome
): Effect.Effect<unknown, SqlError> => {
  const committing = connection.executeRaw("COMMIT", [])
  if (dialect.outcome === undefined) return committing
  return Effect.catchIf(
    committing,
    (error) => isConnectionLoss(error.cause),
    (error) =>
      Effect.matchEffect(askOutcome(xidOf(begun)), {
        onFailure: () => Effect.fail(outcomeUnknown(error)),
        onSuccess: (status) => {
          if (status === "committed") return Effect.void
          return Effect.fail(status === "aborted" ? error : outcomeUnknown(error))
        }
      })
  )
}

/** From the results of the statements of `begin`. */
const xidOf = (begun: unknown): unknown =>
  (begun as ReadonlyArray<{ readonly rows: ReadonlyArray<Row> }>).at(-1)?.rows[0]?.xid
