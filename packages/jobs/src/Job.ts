/**
 * What a job is: its id, its kind, its status and what is known of it.
 *
 * @since 0.1.0
 */
import type * as Instant from "@afterturn/session-log/Instant"
import type { EventInput, SessionId } from "@afterturn/session-log/SessionEvent"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/**
 * The kinds of jobs. A producer adds its own by declaration merging:
 *
 * ```ts
 * declare module "@afterturn/jobs/Job" {
 *   interface JobKindMap { readonly bash: "bash" }
 * }
 * ```
 *
 * @since 0.1.0
 * @category models
 */
// biome-ignore lint/suspicious/noEmptyInterface: producers merge into it
export interface JobKindMap {}

/**
 * The kind of a job: one of `JobKindMap`'s, or any lower-case word that is not declared.
 *
 * @since 0.1.0
 * @category models
 */
export type JobKind = keyof JobKindMap | (string & {})

/**
 * Names a job in its owner's session, `<kind>-N`, or, when nobody owns it, `host-<kind>-N`. Predictable on purpose: who may see a
 * job is decided by its owner. Never reused in a session, also after a restart.
 *
 * @since 0.1.0
 * @category schemas
 */
export const JobId = Schema.String.pipe(
  Schema.pattern(/^(host-)?[a-z][a-z0-9_]{0,31}-[1-9]\d{0,14}$/, {
    message: (issue) => `expected a job id like "bash-1", got ${JSON.stringify(issue.actual)}`
  }),
  Schema.brand("JobId")
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type JobId = typeof JobId.Type

/**
 * How a job ended: by itself, whatever its producer reports in `detail`; by a kill, a disposal or its owner's end; by an error.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TerminalStatus = Schema.Literal("completed", "killed", "failed")

/**
 * @since 0.1.0
 * @category schemas
 */
export type TerminalStatus = typeof TerminalStatus.Type

/**
 * Where a job stands. `stopping`: it was asked to end and has not yet.
 *
 * @since 0.1.0
 * @category schemas
 */
export const JobStatus = Schema.Literal("running", "stopping", "completed", "killed", "failed")

/**
 * @since 0.1.0
 * @category schemas
 */
export type JobStatus = typeof JobStatus.Type

/**
 * Whether a status is final.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isTerminal = (status: JobStatus): status is TerminalStatus => status !== "running" && status !== "stopping"

/**
 * The operating-system process behind a job, enough to find it again after the host died and to tell it from a later process that
 * got its number: `startedAt` and `bootId` in the host's own terms.
 *
 * @since 0.1.0
 * @category schemas
 */
export const JobProcess = Schema.Struct({
  pid: Count,
  group: Count,
  startedAt: Schema.String,
  bootId: Schema.String
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type JobProcess = typeof JobProcess.Type

/**
 * A job as seen now. Instants are UTC text; `detail` is the producer's word on the end, `reason` that of whoever asked for it;
 * `foreground`: a call waits for the end, so nobody else needs to be told of it; `outputBytes` counts the UTF-8 bytes written so far, `unreadBytes` those that the owner's cursor has not passed.
 *
 * @since 0.1.0
 * @category models
 */
export interface JobSnapshot {
  readonly id: JobId
  readonly kind: JobKind
  readonly label: string
  readonly owner: SessionId | undefined
  readonly status: JobStatus
  readonly detail: string | undefined
  readonly reason: string | undefined
  readonly startedAt: Instant.Instant
  readonly finishedAt: Instant.Instant | undefined
  readonly foreground: boolean
  readonly outputBytes: number
  readonly unreadBytes: number
}

/**
 * What a producer may do from inside its job.
 *
 * @since 0.1.0
 * @category models
 */
export interface JobContext {
  readonly id: JobId
  /** Adds to the job's output. Bytes are decoded as UTF-8 whole: a character split over two writes arrives as one. */
  readonly write: (chunk: string | Uint8Array) => Effect.Effect<void>
  /** The facts that go with the end, such as `exit code: 3`. The last one set is kept. */
  readonly setDetail: (detail: string) => Effect.Effect<void>
  /** Why the job was asked to end, once it was. */
  readonly killReason: Effect.Effect<string | undefined>
}

/**
 * What is known of a job before it runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface JobFacts {
  readonly kind: JobKind
  /** One line for people; longer than 200 characters is cut. */
  readonly label: string
  /** The session that the job belongs to; nobody, when absent. */
  readonly owner?: SessionId
  /** UTF-8 bytes of one answer of `read`. Default from the configuration. */
  readonly outputLimitBytes?: number
  /** Somebody waits for the end, so that nobody needs a notice of it, until `Jobs.background` says otherwise. */
  readonly foreground?: boolean
}

/**
 * What a job gives back: its final output, if it has one.
 *
 * @since 0.1.0
 * @category models
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most work gives nothing back
export type JobResult = string | void

/**
 * Work to run in the background.
 *
 * `prepare` acquires what the job holds, and may fail: then there is no job. What it names as `process` is recorded with the job's
 * start, before `run` begins; so are its `events`, in the same append (of a job that nobody owns there is no log). `run` is the job; interrupting it is how it is asked to end. Text that it returns is the job's final
 * output. Both run in the job's own scope, which closes before the job settles.
 *
 * @since 0.1.0
 * @category models
 */
export interface JobSpec<Held, E, R> extends JobFacts {
  readonly prepare: (
    id: JobId
  ) => Effect.Effect<
    { readonly held: Held; readonly process?: JobProcess; readonly events?: ReadonlyArray<EventInput> },
    E,
    R | Scope.Scope
  >
  readonly run: (context: JobContext, held: Held) => Effect.Effect<JobResult, unknown, R | Scope.Scope>
}

/**
 * Work that holds nothing before it runs.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R>(
  facts: JobFacts,
  run: (context: JobContext) => Effect.Effect<JobResult, unknown, R | Scope.Scope>
): JobSpec<void, never, R> => ({
  ...facts,
  prepare: () => Effect.succeed({ held: undefined }),
  run
})

/**
 * One line for people and models: control characters, marks that reorder text and halves of surrogate pairs shown escaped, at most 200
 * characters.
 *
 * @since 0.1.0
 * @category conversions
 */
export const labelLine = (label: string): string => {
  // Beyond what can be shown: a label of megabytes is not walked.
  const line = label.slice(0, 2 * maxCharacters + 2).replace(unprintable, escaped)
  if (line.length <= maxCharacters) return line
  const characters = [...line]
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 1).join("")}…` : line
}

const maxCharacters = 200

const unprintable = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu

const escaped = (character: string): string =>
  character === "\n"
    ? "\\n"
    : character === "\t"
      ? "\\t"
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
