/**
 * What has to hold of every run, as functions over raw events and over what was promised while they were written. They are made from the
 * description of the events (`docs/events.md`) and use nothing of the folds and rules that they check.
 *
 * @since 0.1.0
 */
import { goals } from "./internal/checks/goals.js"
import { inbox } from "./internal/checks/inbox.js"
import { jobs } from "./internal/checks/jobs.js"
import { leftovers } from "./internal/checks/leftovers.js"
import { log } from "./internal/checks/log.js"
import { reminders } from "./internal/checks/reminders.js"
import { todos } from "./internal/checks/todos.js"
import { turns } from "./internal/checks/turns.js"

/**
 * An event as it is stored, its data as JSON.
 *
 * @since 0.1.0
 * @category models
 */
export interface RawEvent {
  readonly seq: number
  readonly type: string
  readonly time: string
  // biome-ignore lint/suspicious/noExplicitAny: raw JSON: each check reads what it knows of
  readonly data: any
}

/**
 * A session as the store holds it at the end. `lease`: somebody still holds it.
 *
 * @since 0.1.0
 * @category models
 */
export interface RawSession {
  readonly id: string
  readonly parent: string | null
  readonly seedLength: number
  readonly lease: boolean
  readonly events: ReadonlyArray<RawEvent>
  /** What the services say of it, by name. */
  readonly observed: Readonly<Record<string, unknown>>
}

/**
 * What a run leaves to be judged.
 *
 * - `acknowledged`: events that an append has answered with; messages that an agent has accepted
 * - `announced`: events that a subscriber has heard of
 * - `logged`: errors that were logged, which no fault explains
 * - `leftovers`: what is still there after every host has ended in order
 * - `now`: the last instant
 *
 * @since 0.1.0
 * @category models
 */
export interface Evidence {
  readonly sessions: ReadonlyArray<RawSession>
  readonly acknowledged: {
    readonly events: ReadonlyArray<{ readonly session: string; readonly event: RawEvent }>
    readonly messages: ReadonlyArray<{ readonly session: string; readonly id: string }>
  }
  readonly announced: ReadonlyArray<{ readonly session: string; readonly event: RawEvent }>
  readonly logged: ReadonlyArray<string>
  readonly leftovers: ReadonlyArray<string>
  readonly now: string
}

/**
 * Something that does not hold, where, and how that shows.
 *
 * @since 0.1.0
 * @category models
 */
export interface Violation {
  readonly session: string
  /** The event at which it shows, where there is one. */
  readonly seq?: number
  readonly problem: string
}

/**
 * A violation and the check that found it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Finding extends Violation {
  readonly check: string
}

/**
 * A check: what of a run does not hold.
 *
 * @since 0.1.0
 * @category models
 */
export type Check = (evidence: Evidence) => ReadonlyArray<Violation>

/**
 * The checks that hold for any agent: what a session has of todos, jobs, reminders or goals is checked where it has any.
 *
 * - `log`: contiguous, a fork begins as its parent, and what was acknowledged or announced is in it
 * - `turns`: turns and steps open and close in order, each call is answered once
 * - `inbox`: each message comes in once, and leaves once: claimed, discarded, or back from a turn that failed
 * - `jobs`: each end is told once, to the owner
 * - `reminders`: each occurrence is delivered once or counted as missed, at its instant and not before
 * - `goals`: transitions are legal, rounds follow one another
 * - `todos`: the list is the last one that was accepted
 * - `leftovers`: no lease, fiber, timer or process stays, and nothing has broken on the way
 *
 * @since 0.1.0
 * @category checks
 */
export const checks: { readonly [name: string]: Check } = {
  log,
  turns,
  inbox,
  jobs,
  reminders,
  goals,
  todos,
  leftovers
}

/**
 * All findings, check by check.
 *
 * @since 0.1.0
 * @category checks
 */
export const judge = (evidence: Evidence, more: { readonly [name: string]: Check } = {}): ReadonlyArray<Finding> =>
  Object.entries({ ...checks, ...more }).flatMap(([check, find]) =>
    find(evidence).map((violation) => ({ check, ...violation }))
  )

/**
 * A finding as one line.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = ({ check, problem, seq, session }: Finding): string =>
  `${check}: session ${session}${seq === undefined ? "" : `, event ${seq}`}: ${problem}`
