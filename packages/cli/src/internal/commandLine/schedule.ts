/** The commands about reminders. */
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { group, leaf } from "../cliCommand.js"
import { anyText, argument, nonEmpty, option, positive, required, sessionId } from "../parameters.js"
import { db, json, text } from "./shared.js"

const schedulePreview = Command.make(
  "preview",
  {
    rule: required("rule", "JSON", "The rule, with exactly one of the keys that schedule_create has for it.", nonEmpty),
    from: option("from", "INSTANT", "Only what comes after this RFC 3339 time. Default: now.", nonEmpty),
    count: option("count", "N", "How many at most. Default: 5.", positive),
    json
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("../../commands/schedule.js")),
      ({ preview }) => preview(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Shows when a reminder with a rule would come due, each time in UTC and on the clocks of the rule's zone.",
      "Local times that clocks skip or show twice are noted. With --json, an array of { at, local, note? }.",
      `$ afterturn schedule preview --rule '{"cron":{"expression":"30 2 * * *","time_zone":"America/New_York"}}'`,
      `$ afterturn schedule preview --rule '{"every_seconds":3600}' --from 2026-03-07T12:00:00Z --count 2`
    )
  )
)

const schedule = () => Effect.promise(() => import("../../commands/schedule.js"))

const scheduled = required("session", "ID", "The session whose reminders are meant.", sessionId)

const reminder = argument("REMINDER", "The reminder, such as schedule-1.", nonEmpty)

const ruleOption = "The rule as JSON, with exactly one of the keys that schedule_create has for it."

const scheduleList = Command.make("list", { session: scheduled, db, json }, (options) =>
  Effect.flatMap(schedule(), ({ list }) => list(options))
).pipe(
  Command.withDescription(text("Lists the reminders of a session that are not over, in the order of their creation."))
)

const scheduleCreate = Command.make(
  "create",
  {
    session: scheduled,
    title: required("title", "TEXT", "A name for lists.", nonEmpty),
    rule: required("rule", "JSON", ruleOption, nonEmpty),
    db,
    json,
    prompt: argument("PROMPT", "What the agent is reminded of.", anyText)
  },
  (options) => Effect.flatMap(schedule(), ({ create }) => create(options))
).pipe(
  Command.withDescription(
    text(
      "Sets a reminder in a session.",
      "The process that drives the session does it; where there is none, this one does, under the session's lease.",
      `$ afterturn schedule create --session ID --title standup --rule '{"daily":{"time":"09:00:00","time_zone":"Europe/Berlin"}}' "Join."`
    )
  )
)

const scheduleUpdate = Command.make(
  "update",
  {
    session: scheduled,
    title: option("title", "TEXT", "A new name.", nonEmpty),
    prompt: option("prompt", "TEXT", "A new prompt.", nonEmpty),
    rule: option("rule", "JSON", ruleOption, nonEmpty),
    db,
    json,
    id: reminder
  },
  (options) => Effect.flatMap(schedule(), ({ update }) => update(options))
).pipe(Command.withDescription(text("Changes a reminder in place; what is not given stays.")))

const scheduleVerb = (verb: "delete" | "pause" | "resume" | "run-now", description: string) =>
  Command.make(verb, { session: scheduled, db, json, id: reminder }, (options) =>
    Effect.flatMap(schedule(), ({ simple }) => simple({ ...options, verb }))
  ).pipe(Command.withDescription(text(description)))

const scheduleHistory = Command.make("history", { session: scheduled, db, json, id: reminder }, (options) =>
  Effect.flatMap(schedule(), ({ history }) => history(options))
).pipe(
  Command.withDescription(
    text(
      "Tells what was done to a reminder and what became of each occurrence: due, decided, late by, missed, turns, outcome."
    )
  )
)

export const scheduleCommands = group(
  "schedule",
  text("Looks at reminders, sets and changes them."),
  leaf(scheduleList),
  leaf(scheduleCreate),
  leaf(scheduleUpdate),
  leaf(scheduleVerb("delete", "Deletes a reminder. A message of it that waits already stays.")),
  leaf(scheduleVerb("pause", "Pauses a reminder: what comes due meanwhile is skipped.")),
  leaf(scheduleVerb("resume", "Goes on with a paused reminder, from its first occurrence after now.")),
  leaf(scheduleVerb("run-now", "Hands a reminder to its session now, beside its rule.")),
  leaf(scheduleHistory),
  leaf(schedulePreview)
)
