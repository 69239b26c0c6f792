import * as Hash from "effect/Hash"
import type { ReminderRecord } from "../Reminder.js"

type Content = Pick<ReminderRecord, "title" | "prompt" | "rule">

/** What a reminder says and when, as one text. */
export const textOf = ({ prompt, rule, title }: Content): string => JSON.stringify([title, prompt, sorted(rule)])

export const fingerprint = (reminder: Content): number => Hash.string(textOf(reminder))

/** With its keys in order: equal for rules that differ only in theirs. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, sorted(item)])
}
