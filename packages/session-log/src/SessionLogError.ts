/**
 * What may go wrong with a session. `SessionLog` exports the same names.
 *
 * Numbers that come from what is stored are any number: a damaged row must not keep its own error from being made.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Instant } from "./Instant.js"
import { SessionId } from "./SessionEvent.js"
import type { SessionStoreError } from "./SessionStore.js"

/**
 * No session has this id.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>("@afterturn/session-log/SessionNotFound")(
  "SessionNotFound",
  { sessionId: Schema.String }
) {
  override get message(): string {
    return `no session "${this.sessionId}"`
  }
}

/**
 * The id is taken; the session that has it was left as it is.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionExists extends Schema.TaggedError<SessionExists>("@afterturn/session-log/SessionExists")(
  "SessionExists",
  { sessionId: SessionId }
) {
  override get message(): string {
    return `a session "${this.sessionId}" exists already`
  }
}

/**
 * `expectedSeq` did not hold, so nothing was stored. Read on from there and decide again.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionConflict extends Schema.TaggedError<SessionConflict>("@afterturn/session-log/SessionConflict")(
  "SessionConflict",
  { sessionId: SessionId, expectedSeq: Schema.Int, actualSeq: Schema.Int }
) {
  override get message(): string {
    return `session "${this.sessionId}": expected the last seq to be ${this.expectedSeq}, it is ${this.actualSeq}`
  }
}

/**
 * Another host drives the session.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionLeased extends Schema.TaggedError<SessionLeased>("@afterturn/session-log/SessionLeased")(
  "SessionLeased",
  {
    sessionId: SessionId,
    holder: Schema.Struct({ host: Schema.String, bootId: Schema.String, pid: Schema.Number, startedAt: Schema.String }),
    expiresAt: Instant
  }
) {
  override get message(): string {
    return `session "${this.sessionId}" is driven by process ${this.holder.pid} on ${this.holder.host} (lease until ${this.expiresAt}); stop that one or wait`
  }
}

/**
 * This host drove the session and no longer does: its lease was taken over or given up. Nothing was stored.
 *
 * @since 0.1.0
 * @category errors
 */
export class LeaseLost extends Schema.TaggedError<LeaseLost>("@afterturn/session-log/LeaseLost")("LeaseLost", {
  sessionId: SessionId,
  /** Why the lease could not be kept, when it is not that another host has taken it. */
  fault: Schema.optionalWith(Schema.String, { exact: true })
}) {
  override get message(): string {
    const why =
      this.fault === undefined
        ? "another host drives it now"
        : `it could not be renewed before it expired, since ${this.fault}; resume the session once that is mended`
    return `the lease of session "${this.sessionId}" was lost: ${why}`
  }
}

/**
 * An event that the log does not take: its type is not registered, or its data is not lossless JSON or not of its type.
 *
 * @since 0.1.0
 * @category errors
 */
export class EventRejected extends Schema.TaggedError<EventRejected>("@afterturn/session-log/EventRejected")(
  "EventRejected",
  { sessionId: SessionId, type: Schema.String, reason: Schema.String }
) {
  override get message(): string {
    return `event "${this.type}" refused: ${this.reason}`
  }
}

/**
 * The session holds an event type that this composition does not know and may not skip: it can be read and exported, not
 * driven or appended to.
 *
 * @since 0.1.0
 * @category errors
 */
export class UnknownEventType extends Schema.TaggedError<UnknownEventType>("@afterturn/session-log/UnknownEventType")(
  "UnknownEventType",
  { sessionId: SessionId, type: Schema.String, seq: Schema.Number }
) {
  override get message(): string {
    return `session "${this.sessionId}" holds an event of unknown type "${this.type}" at seq ${this.seq}; it can be read and exported, not continued`
  }
}

/**
 * The stored session is damaged at `seq`. It is never repaired by guess.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionLogCorrupt extends Schema.TaggedError<SessionLogCorrupt>(
  "@afterturn/session-log/SessionLogCorrupt"
)("SessionLogCorrupt", { sessionId: SessionId, seq: Schema.Number, reason: Schema.String }) {
  override get message(): string {
    return `session "${this.sessionId}" is corrupt at seq ${this.seq}: ${this.reason}`
  }
}

/**
 * The session's header has a version that this release does not know.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionVersionUnsupported extends Schema.TaggedError<SessionVersionUnsupported>(
  "@afterturn/session-log/SessionVersionUnsupported"
)("SessionVersionUnsupported", { sessionId: Schema.String, version: Schema.Number, supported: Schema.Int }) {
  override get message(): string {
    return `session "${this.sessionId}" was written by a newer version (header version ${this.version}, this release reads ${this.supported})`
  }
}

/**
 * A boundary that a fork cannot have.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidForkBoundary extends Schema.TaggedError<InvalidForkBoundary>(
  "@afterturn/session-log/InvalidForkBoundary"
)("InvalidForkBoundary", { sessionId: SessionId, boundary: Schema.Number, lastSeq: Schema.Int }) {
  override get message(): string {
    return `session "${this.sessionId}" cannot be forked at ${this.boundary}: expected a seq from -1 through ${this.lastSeq}`
  }
}

/**
 * An import that is not a session. Nothing of it was stored. `line` counts from 1.
 *
 * @since 0.1.0
 * @category errors
 */
export class ImportRejected extends Schema.TaggedError<ImportRejected>("@afterturn/session-log/ImportRejected")(
  "ImportRejected",
  { line: Schema.Int, reason: Schema.String }
) {
  override get message(): string {
    return `line ${this.line}: ${this.reason}`
  }
}

/**
 * A `cursor` that no page of a list gave out.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidCursor extends Schema.TaggedError<InvalidCursor>("@afterturn/session-log/InvalidCursor")(
  "InvalidCursor",
  { cursor: Schema.String }
) {
  override get message(): string {
    return `expected a cursor from the page before, got ${JSON.stringify(this.cursor)}`
  }
}

/**
 * Why an append may fail. In each case nothing of it is stored.
 *
 * @since 0.1.0
 * @category errors
 */
export type AppendError =
  | SessionNotFound
  | SessionConflict
  | SessionLeased
  | LeaseLost
  | EventRejected
  | UnknownEventType
  | SessionVersionUnsupported
  | SessionStoreError

/**
 * Why a read may fail.
 *
 * @since 0.1.0
 * @category errors
 */
export type ReadError = SessionNotFound | SessionVersionUnsupported | SessionLogCorrupt | SessionStoreError
