import type { SqlError } from "@effect/sql/SqlError"
import { SessionStoreError } from "../SessionStore.js"

type Reason = SessionStoreError["reason"]

const messages: Record<Reason, string> = {
  busy: "expected the write lock within the wait budget, others held it all the time; try again",
  full: "no space is left for the database",
  "read-only": "expected a database that can be written, the file, its folder or the connection does not allow it",
  "not-a-database": "expected a session log database, the file is none or is damaged",
  "newer-schema": "the database was written by a newer version",
  damaged: "what is stored of a session is damaged; see `afterturn sessions verify`",
  unavailable: "the database could not do what was asked"
}

/** By the beginning of the driver's code. The first that fits counts. */
const sqliteReasons: ReadonlyArray<readonly [prefix: string, reason: Reason]> = [
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  // The shared index of the log could not be made as large as it must be.
  ["SQLITE_IOERR_SHMSIZE", "full"],
  ["SQLITE_READONLY", "read-only"],
  ["SQLITE_CANTOPEN", "read-only"],
  ["SQLITE_PERM", "read-only"],
  ["SQLITE_NOTADB", "not-a-database"],
  ["SQLITE_CORRUPT", "not-a-database"]
]

const otherReasons: Record<string, Reason> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EACCES: "read-only",
  EPERM: "read-only",
  EROFS: "read-only",
  // PostgreSQL: serialization failure, deadlock, lock timeout.
  "40001": "busy",
  "40P01": "busy",
  "55P03": "busy",
  // PostgreSQL: disk full, read-only transaction, insufficient privilege, corrupted data and index.
  "53100": "full",
  "25006": "read-only",
  "42501": "read-only",
  XX001: "not-a-database",
  XX002: "not-a-database"
}

const codeOf = (cause: unknown): string => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : ""
}

const reasonOf = (code: string): Reason =>
  sqliteReasons.find(([prefix]) => code.startsWith(prefix))?.[1] ?? otherReasons[code] ?? "unavailable"

/** PostgreSQL is shut down or started, and what a socket says. Connection exceptions are a class of their own. */
const lostCodes: ReadonlySet<string> = new Set([
  "57P01",
  "57P02",
  "57P03",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTCONN",
  "EPIPE",
  "ETIMEDOUT"
])

/** What the driver of PostgreSQL says without a code when a connection ends under it. */
const lostMessage =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect)/

/** Whether the connection to the server was lost, or none was made. */
export const isConnectionLoss = (cause: unknown): boolean => {
  const code = codeOf(cause)
  return lostCodes.has(code) || code.startsWith("08") || (cause instanceof Error && lostMessage.test(cause.message))
}

/** A row that may be there once only: the store's own statements never write one twice, so what is stored is at odds with itself. */
const contradiction =
  "what is stored contradicts itself: an event stands where the next one belongs; see `afterturn sessions verify`"

const isContradiction = (code: string): boolean => code.startsWith("SQLITE_CONSTRAINT") || code === "23505"

/** What a driver or the operating system threw. */
export const fromCause = (cause: unknown): SessionStoreError => {
  if (cause instanceof SessionStoreError) return cause
  const code = codeOf(cause)
  const reason = reasonOf(code)
  const detail = cause instanceof Error && cause.message !== "" ? ` (${cause.message})` : ""
  return new SessionStoreError({
    reason,
    message: `${isContradiction(code) ? contradiction : messages[reason]}${detail}`,
    cause
  })
}

export const fromSqlError = (error: SqlError): SessionStoreError => fromCause(error.cause ?? error)
