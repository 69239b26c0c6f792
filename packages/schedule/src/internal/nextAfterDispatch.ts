import type { Instant } from "@afterturn/session-log/Instant"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Occurrences from "../Occurrences.js"
import type { ReminderRecord } from "../Reminder.js"
import { isOnce } from "../ReminderRule.js"

/**
 * The occurrence that a reminder waits for after a dispatch; `undefined`: it is over. The event names it, so that a later release of
 * the zone's rules changes nothing; a dispatch that does not name it leaves it to the rule.
 */
export const nextAfterDispatch = (
  { rule, scheduledAt }: ReminderRecord,
  change: { readonly acceptedAt: Instant; readonly scheduledAt?: Instant }
): Instant | undefined => {
  if (change.scheduledAt !== undefined || isOnce(rule)) return change.scheduledAt
  const next = Occurrences.next(rule, { after: change.acceptedAt, anchor: scheduledAt })
  return Option.getOrUndefined(Either.getOrElse(next, () => Option.none<Instant>()))
}
