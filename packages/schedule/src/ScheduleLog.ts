/**
 * The fold of a session's reminders. It takes `schedule/change` events strictly: what it cannot take is named by its seq, the reminder
 * that it concerns is set aside, and the others go on.
 *
 * @since 0.1.0
 */
import type { Instant } from "@afterturn/session-log/Instant"
import { toMillis } from "@afterturn/session-log/Instant"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as DueQueue from "./internal/dueQueue.js"
import { fingerprint, textOf } from "./internal/fingerprint.js"
import { nextAfterDispatch } from "./internal/nextAfterDispatch.js"
import { fromRanges, toRanges } from "./internal/ranges.js"
import { dispatchProblem, problemOf } from "./internal/transitions.js"
import type { ReminderId } from "./Reminder.js"
import { numberOf, ReminderId as ReminderIdSchema, ReminderRecord } from "./Reminder.js"
import type { ScheduleChangeData } from "./ScheduleEvents.js"
import { ScheduleChange } from "./ScheduleEvents.js"

/**
 * A reminder that is not over.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reminder extends ReminderRecord {
  readonly paused: boolean
}

/**
 * An event that the fold could not take. `id` is the reminder that it seems to concern.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ScheduleFault = Schema.Struct({
  seq: Count,
  id: Schema.NullOr(ReminderIdSchema),
  reason: Schema.String
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type ScheduleFault = typeof ScheduleFault.Type

/**
 * The reminders of a session.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScheduleState {
  /** The last number that was given out here. */
  readonly last: number
  /** Those that are not over, paused ones included, by number. */
  readonly reminders: HashMap.HashMap<number, Reminder>
  /** Those of them that wait for an instant: not the paused ones. */
  readonly queue: DueQueue.DueQueue
  /** Those with the same title, prompt and rule, by fingerprint. */
  readonly twins: HashMap.HashMap<number, ReadonlyArray<number>>
  /** Those that are over and were not deleted. */
  readonly finished: HashSet.HashSet<number>
  /** Events that could not be taken; the first 100 are kept. */
  readonly faults: ReadonlyArray<ScheduleFault>
  readonly faultCount: number
}

/**
 * No reminders.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: ScheduleState = {
  last: 0,
  reminders: HashMap.empty(),
  queue: DueQueue.empty,
  twins: HashMap.empty(),
  finished: HashSet.empty(),
  faults: [],
  faultCount: 0
}

const maxFaults = 100

/**
 * The state after a change, or why it can't follow.
 *
 * @since 0.1.0
 * @category transitions
 */
export const transition = (state: ScheduleState, change: ScheduleChangeData): Either.Either<ScheduleState, string> => {
  const number = numberOf("record" in change ? change.record.id : change.id)
  const present = Option.getOrUndefined(HashMap.get(state.reminders, number))
  const problem = problemOf(change, {
    last: state.last,
    present,
    isFinished: present === undefined && HashSet.has(state.finished, number)
  })
  return problem === undefined ? apply(state, change, number, present) : Either.left(problem)
}

const apply = (
  state: ScheduleState,
  change: ScheduleChangeData,
  number: number,
  present: Reminder | undefined
): Either.Either<ScheduleState, string> => {
  switch (change.operation) {
    case "create":
      return Either.right({ ...put(state, number, undefined, { ...change.record, paused: false }), last: number })
    case "update":
      return Either.right(put(state, number, present, { ...change.record, paused: present?.paused ?? false }))
    case "delete":
      return Either.right(
        present === undefined
          ? { ...state, finished: HashSet.remove(state.finished, number) }
          : drop(state, number, present)
      )
    case "run-now":
      return Either.right(state)
    case "pause":
      return Either.right(present === undefined ? state : put(state, number, present, { ...present, paused: true }))
    case "resume":
      return Either.right(
        present === undefined
          ? state
          : put(state, number, present, { ...present, paused: false, scheduledAt: change.scheduledAt })
      )
    case "dispatch":
      return present === undefined ? Either.right(state) : dispatch(state, change, number, present)
  }
}

const dispatch = (
  state: ScheduleState,
  change: Extract<ScheduleChangeData, { readonly operation: "dispatch" }>,
  number: number,
  present: Reminder
): Either.Either<ScheduleState, string> => {
  const next = nextAfterDispatch(present, change)
  const problem = dispatchProblem(present, change, next)
  if (problem !== undefined) return Either.left(problem)
  if (next !== undefined) return Either.right(put(state, number, present, { ...present, scheduledAt: next }))
  const without = drop(state, number, present)
  return Either.right({ ...without, finished: HashSet.add(without.finished, number) })
}

const put = (state: ScheduleState, number: number, before: Reminder | undefined, after: Reminder): ScheduleState => ({
  ...state,
  reminders: HashMap.set(state.reminders, number, after),
  queue: DueQueue.move(state.queue, targetOf(number, before), targetOf(number, after)),
  twins: moveTwin(state.twins, number, before, after)
})

const drop = (state: ScheduleState, number: number, before: Reminder): ScheduleState => ({
  ...state,
  reminders: HashMap.remove(state.reminders, number),
  queue: DueQueue.move(state.queue, targetOf(number, before), undefined),
  twins: moveTwin(state.twins, number, before, undefined)
})

const targetOf = (number: number, reminder: Reminder | undefined): DueQueue.Target | undefined =>
  reminder === undefined || reminder.paused ? undefined : new DueQueue.Target(toMillis(reminder.scheduledAt), number)

const moveTwin = (
  twins: ScheduleState["twins"],
  number: number,
  before: Reminder | undefined,
  after: Reminder | undefined
): ScheduleState["twins"] => {
  const from = before && fingerprint(before)
  const to = after && fingerprint(after)
  if (from === to) return twins
  const without =
    from === undefined
      ? twins
      : HashMap.modifyAt(twins, from, (numbers) =>
          Option.filter(
            Option.map(numbers, (all) => all.filter((each) => each !== number)),
            (all) => all.length > 0
          )
        )
  return to === undefined
    ? without
    : HashMap.modifyAt(without, to, (numbers) => Option.some([...Option.getOrElse(numbers, () => []), number]))
}

/**
 * The earliest number of an active reminder that says the same under the same rule.
 *
 * @since 0.1.0
 * @category accessors
 */
export const twinOf = (
  state: ScheduleState,
  reminder: Pick<ReminderRecord, "title" | "prompt" | "rule">
): Reminder | undefined => {
  const wanted = textOf(reminder)
  for (const number of Option.getOrElse(HashMap.get(state.twins, fingerprint(reminder)), () => [])) {
    const found = Option.getOrUndefined(HashMap.get(state.reminders, number))
    if (found !== undefined && textOf(found) === wanted) return found
  }
  return undefined
}

/**
 * A reminder that is not over.
 *
 * @since 0.1.0
 * @category accessors
 */
export const find = (state: ScheduleState, id: ReminderId): Reminder | undefined =>
  Option.getOrUndefined(HashMap.get(state.reminders, numberOf(id)))

/**
 * Whether a reminder is over, and was not deleted.
 *
 * @since 0.1.0
 * @category accessors
 */
export const isFinished = (state: ScheduleState, id: ReminderId): boolean => HashSet.has(state.finished, numberOf(id))

/**
 * How many reminders are not over.
 *
 * @since 0.1.0
 * @category accessors
 */
export const size = (state: ScheduleState): number => HashMap.size(state.reminders)

/**
 * The reminders that are not over, in the order of their creation.
 *
 * @since 0.1.0
 * @category accessors
 */
export const list = (state: ScheduleState): ReadonlyArray<Reminder> =>
  HashMap.toValues(state.reminders).sort((a, b) => numberOf(a.id) - numberOf(b.id))

/**
 * When the earliest reminder that is not paused comes due.
 *
 * @since 0.1.0
 * @category accessors
 */
export const earliest = (state: ScheduleState): Instant | undefined => {
  const target = DueQueue.first(state.queue)
  return target === undefined
    ? undefined
    : Option.getOrUndefined(HashMap.get(state.reminders, target.number))?.scheduledAt
}

/**
 * Those that wait for an instant, the soonest first, then in the order of their creation.
 *
 * @since 0.1.0
 * @category accessors
 */
export function* soonest(state: ScheduleState): Generator<Reminder> {
  for (const { number } of DueQueue.ascending(state.queue)) {
    const reminder = Option.getOrUndefined(HashMap.get(state.reminders, number))
    if (reminder !== undefined) yield reminder
  }
}

const fold = (state: ScheduleState, event: SessionEvent): ScheduleState => {
  if (event.type !== ScheduleChange.type) return state
  const decoded = Either.mapLeft(ScheduleChange.decode(event), () => ScheduleChange.problem(event.data) ?? "unreadable")
  const after = Either.flatMap(decoded, (change) => transition(state, change))
  return Either.getOrElse(after, (reason) => setAside(state, { seq: event.seq, id: idIn(event.data), reason }))
}

/** The reminder that an event concerns may be in any state now: it is left out until somebody has looked. */
const setAside = (state: ScheduleState, fault: ScheduleFault): ScheduleState => {
  const number = fault.id === null ? undefined : numberOf(fault.id)
  const present = number === undefined ? undefined : Option.getOrUndefined(HashMap.get(state.reminders, number))
  const without = number === undefined || present === undefined ? state : drop(state, number, present)
  return {
    ...without,
    last: Math.max(without.last, number ?? 0),
    faultCount: without.faultCount + 1,
    faults: without.faults.length < maxFaults ? [...without.faults, fault] : without.faults
  }
}

const isId = Schema.is(ReminderIdSchema)

const idIn = (data: unknown): ReminderId | null => {
  if (typeof data !== "object" || data === null) return null
  if ("id" in data) return isId(data.id) ? data.id : null
  return "record" in data ? idIn(data.record) : null
}

const Encoded = Schema.Struct({
  last: Count,
  reminders: Schema.Array(Schema.Struct({ ...ReminderRecord.fields, paused: Schema.Boolean })),
  finished: Schema.Array(Schema.Tuple(Count, Count)),
  faults: Schema.Array(ScheduleFault),
  faultCount: Count
})

const isState = (value: unknown): value is ScheduleState =>
  typeof value === "object" && value !== null && "reminders" in value && HashMap.isHashMap(value.reminders)

const StateSchema = Schema.transform(Encoded, Schema.declare(isState), {
  strict: true,
  decode: ({ faultCount, faults, finished, last, reminders }): ScheduleState => {
    const filled = reminders.reduce<ScheduleState>(
      (state, reminder) => put(state, numberOf(reminder.id), undefined, reminder),
      empty
    )
    return { ...filled, last, faults, faultCount, finished: HashSet.fromIterable(fromRanges(finished)) }
  },
  encode: (state) => ({
    last: state.last,
    reminders: list(state),
    finished: toRanges(HashSet.toValues(state.finished)),
    faults: state.faults,
    faultCount: state.faultCount
  })
})

/**
 * The reminders of a session. A fork begins without any: its parent's are history.
 *
 * @since 0.1.0
 * @category projections
 */
export const reminders: Projection.Projection<ScheduleState, typeof Encoded.Encoded> = Projection.make({
  key: "reminders",
  version: 1,
  schema: StateSchema,
  initial: empty,
  types: [ScheduleChange.type],
  apply: fold
})

/**
 * The last number that was given out, also in the history that a fork took over, so that none comes twice.
 *
 * @since 0.1.0
 * @category projections
 */
export const lastNumber: Projection.Projection<number> = Projection.make({
  key: "reminder-numbers",
  version: 1,
  schema: Schema.Number,
  initial: 0,
  history: "inherited",
  types: [ScheduleChange.type],
  apply: (last, event) => {
    const id = event.type === ScheduleChange.type ? idIn(event.data) : null
    return id === null ? last : Math.max(last, numberOf(id))
  }
})
