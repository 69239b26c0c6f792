/**
 * What a session is made of: its id, its header and its events.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Instant } from "./Instant.js"

/**
 * Names one conversation and its log: 1 to 128 letters, digits, `.`, `_`, `:` or `-`, beginning with a letter or digit,
 * so that an id is safe in a path, a URL and a shell.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionId = Schema.String.pipe(
  Schema.pattern(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, {
    message: (issue) =>
      `expected a session id (1 to 128 letters, digits, ".", "_", ":" or "-", beginning with a letter or digit), got ${
        JSON.stringify(issue.actual)
      }`
  }),
  Schema.brand("SessionId")
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type SessionId = typeof SessionId.Type

/**
 * The header version that this release reads and writes.
 *
 * @since 0.1.0
 * @category constants
 */
export const headerVersion = 1

/**
 * A non-negative safe integer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Count = Schema.Int.pipe(Schema.between(0, Number.MAX_SAFE_INTEGER))

/**
 * What is known of a session before its first event.
 *
 * `seedLength` counts the events taken over from `parent`: events below it are history, not this session's own state.
 * `delegationDepth` is 0 for a root session and one more than its parent's for a delegated one.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionHeader = Schema.Struct({
  id: SessionId,
  version: Schema.Literal(headerVersion),
  createdAt: Instant,
  cwd: Schema.optionalWith(Schema.String, { exact: true }),
  title: Schema.optionalWith(Schema.String, { exact: true }),
  parent: Schema.optionalWith(SessionId, { exact: true }),
  seedLength: Schema.optionalWith(Count, { exact: true }),
  delegationDepth: Count
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type SessionHeader = typeof SessionHeader.Type

/**
 * A header with the seq of the session's last event, -1 while it has none.
 *
 * @since 0.1.0
 * @category models
 */
export type SessionSummary = SessionHeader & { readonly lastSeq: number }

/**
 * One appended fact. `seq` starts at 0 and has no gaps; `time` may repeat or fall, order is `seq`. `sourceEventSeqs` names
 * earlier events that this one is derived from; an `ignorable` event may be skipped by a reader that does not know its type.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionEvent = Schema.Struct({
  seq: Count,
  type: Schema.NonEmptyString,
  time: Instant,
  data: Schema.Unknown,
  sourceEventSeqs: Schema.optionalWith(Schema.Array(Count), { exact: true }),
  ignorable: Schema.optionalWith(Schema.Boolean, { exact: true })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type SessionEvent = typeof SessionEvent.Type

/**
 * An event that is not stored yet: the log gives it `seq` and `time`.
 *
 * @since 0.1.0
 * @category models
 */
export interface EventInput {
  readonly type: string
  readonly data: unknown
  readonly sourceEventSeqs?: ReadonlyArray<number>
  readonly ignorable?: boolean
}

/**
 * The number of events of a session that belong to its parent's history.
 *
 * @since 0.1.0
 * @category accessors
 */
export const seedLength = (header: SessionHeader): number => header.seedLength ?? 0
