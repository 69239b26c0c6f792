import type { Instant } from "@afterturn/session-log/Instant"
import { toMillis } from "@afterturn/session-log/Instant"
import type { ReminderRecord } from "../Reminder.js"
import { numberOf } from "../Reminder.js"
import { isOnce } from "../ReminderRule.js"
import type { ScheduleChangeData } from "../ScheduleEvents.js"
import { fingerprint } from "./fingerprint.js"

type Change<Operation> = Extract<ScheduleChangeData, { readonly operation: Operation }>

/** What a change meets. */
export interface Before {
  readonly last: number
  readonly present: (ReminderRecord & { readonly paused: boolean }) | undefined
  readonly isFinished: boolean
}

/** Why a change can't follow, or `undefined` when it can. */
export const problemOf = (change: ScheduleChangeData, before: Before): string | undefined => {
  switch (change.operation) {
    case "create":
      return createProblem(change.record, before.last)
    case "delete":
      return before.present !== undefined || before.isFinished ? undefined : notActive(change.id)
    case "update":
      return before.present === undefined ? notActive(change.record.id) : updateProblem(change.record, before.present)
    case "run-now":
      return before.present === undefined ? notActive(change.id) : undefined
    case "pause":
    case "dispatch":
      return before.present === undefined || before.present.paused ? notActive(change.id) : undefined
    case "resume":
      return before.present === undefined ? notActive(change.id) : resumeProblem(change, before.present)
  }
}

const notActive = (id: string): string => `expected an active reminder, ${id} is none`

const createProblem = ({ createdAt, id, rule, scheduledAt }: ReminderRecord, last: number): string | undefined => {
  if (numberOf(id) <= last) return `expected a new id after schedule-${last}, got ${id}`
  if (toMillis(scheduledAt) <= toMillis(createdAt))
    return `expected ${id} to come after ${createdAt}, got ${scheduledAt}`
  const seconds = secondsOf(rule)
  const expected = seconds === undefined ? toMillis(scheduledAt) : toMillis(createdAt) + seconds * 1000
  return toMillis(scheduledAt) === expected
    ? undefined
    : `expected ${id} ${seconds} seconds after ${createdAt}, got ${scheduledAt}`
}

const secondsOf = (rule: ReminderRecord["rule"]): number | undefined => {
  if ("after_seconds" in rule) return rule.after_seconds
  return "every_seconds" in rule ? rule.every_seconds : undefined
}

const updateProblem = (after: ReminderRecord, before: ReminderRecord): string | undefined => {
  if (after.createdAt !== before.createdAt) return `expected ${after.id} to keep its creation, got ${after.createdAt}`
  const sameRule = ruleText(after) === ruleText(before)
  if (sameRule && "every_seconds" in after.rule) return undefined
  if (sameRule && after.scheduledAt !== before.scheduledAt && isOnce(after.rule)) {
    return `expected ${after.id} to keep ${before.scheduledAt} with its rule, got ${after.scheduledAt}`
  }
  return !sameRule && "after_seconds" in after.rule ? `expected no new delay for ${after.id}` : undefined
}

/** Only the rule: the texts are left out of the comparison. */
const ruleText = ({ rule }: ReminderRecord): number => fingerprint({ title: "", prompt: "", rule })

const resumeProblem = (
  { id, scheduledAt }: Change<"resume">,
  before: ReminderRecord & { readonly paused: boolean }
): string | undefined => {
  if (!before.paused) return `expected a paused reminder, ${id} is none`
  const elapsed = toMillis(scheduledAt) - toMillis(before.scheduledAt)
  const step = "every_seconds" in before.rule ? before.rule.every_seconds * 1000 : 1
  const fits = isOnce(before.rule) ? elapsed === 0 : elapsed >= 0 && elapsed % step === 0
  return fits ? undefined : `expected ${id} to go on from ${before.scheduledAt}, got ${scheduledAt}`
}

/** Why a dispatch does not fit the reminder that it is of; `next` is what that would wait for. */
export const dispatchProblem = (
  before: ReminderRecord,
  change: Change<"dispatch">,
  next: Instant | undefined
): string | undefined => {
  const scheduled = toMillis(before.scheduledAt)
  const occurrence = toMillis(change.occurrenceAt)
  const accepted = toMillis(change.acceptedAt)
  if (occurrence < scheduled || accepted < occurrence) {
    return `expected an occurrence from ${before.scheduledAt} to ${change.acceptedAt}, got ${change.occurrenceAt}`
  }
  if (next !== undefined && toMillis(next) <= accepted) {
    return `expected the next occurrence after ${change.acceptedAt}, got ${next}`
  }
  const missed = missedOf(before, change)
  if (missed === undefined ? (change.missed === 0) !== (occurrence === scheduled) : missed !== change.missed) {
    return `expected ${missed ?? "as many"} missed occurrences from ${before.scheduledAt} to ${change.occurrenceAt}, got ${change.missed}`
  }
  if (isOnce(before.rule)) return change.scheduledAt === undefined ? undefined : "expected no next occurrence"
  if (!("every_seconds" in before.rule) || next === undefined) return undefined
  const interval = before.rule.every_seconds * 1000
  return toMillis(next) === occurrence + interval && accepted < occurrence + interval
    ? undefined
    : `expected the occurrence before ${change.acceptedAt} and the next ${before.rule.every_seconds} seconds later`
}

/** Where the rule alone tells: of one that comes once, and of a fixed rate. */
const missedOf = ({ rule, scheduledAt }: ReminderRecord, { occurrenceAt }: Change<"dispatch">): number | undefined => {
  const elapsed = toMillis(occurrenceAt) - toMillis(scheduledAt)
  if (isOnce(rule)) return elapsed === 0 ? 0 : -1
  return "every_seconds" in rule ? elapsed / (rule.every_seconds * 1000) : undefined
}
