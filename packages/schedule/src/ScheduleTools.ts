/**
 * The four tools by which an agent keeps its reminders.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent, isRoot } from "@afterturn/agent/Agent"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { Instant } from "@afterturn/session-log/Instant"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError, ReadError } from "@afterturn/session-log/SessionLog"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { InvalidRule } from "./InvalidRule.js"
import { InvalidRuleCode } from "./InvalidRule.js"
import { listText, reminderText } from "./internal/toolText.js"
import {
  AfterRule,
  AtRule,
  CronRule,
  DailyRule,
  EveryRule,
  ReminderRule,
  selectors,
  WeeklyRule
} from "./ReminderRule.js"
import type { ReminderView } from "./Schedule.js"
import { Schedule } from "./Schedule.js"
import type { ScheduleSettings } from "./ScheduleConfig.js"
import { DeliveryMode, ScheduleConfig } from "./ScheduleConfig.js"
import type { ScheduleError } from "./ScheduleError.js"
import { ScheduleErrorCode } from "./ScheduleError.js"
import { ScheduleChange } from "./ScheduleEvents.js"
import { ScheduleFault } from "./ScheduleLog.js"

/**
 * Why a tool did not do it. Beside what the service refuses:
 *
 * - `persistence_uncertain`: the store failed in the middle; whether it was stored, a list tells
 * - `not_stored`: the store refused; nothing was stored
 * - `no_owning_session`: the call was made outside an agent
 * - `internal_error`: the session's log could not be read
 *
 * @since 0.1.0
 * @category errors
 */
export class ScheduleToolError extends Schema.TaggedError<ScheduleToolError>("@afterturn/schedule/ScheduleToolError")(
  "ScheduleToolError",
  {
    code: Schema.Literal(
      ...new Set([
        ...InvalidRuleCode.literals,
        ...ScheduleErrorCode.literals,
        "persistence_uncertain" as const,
        "not_stored" as const,
        "no_owning_session" as const,
        "internal_error" as const
      ])
    ),
    message: Schema.String
  }
) {}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Occurrence = Schema.Struct({ at: Instant, local: Schema.String, note: optional(Schema.String) })

const listed = {
  id: Schema.String,
  title: Schema.String,
  rule: ReminderRule,
  words: Schema.String,
  state: Schema.Literal("scheduled", "overdue", "paused"),
  scheduledAt: Instant,
  localTime: optional(Schema.String),
  delivery: DeliveryMode,
  upcoming: Schema.Array(Occurrence),
  waitsFor: optional(Schema.String),
  problem: optional(Schema.String)
}

const Listed = Schema.Struct({ ...listed, prompt: Schema.String })

const Created = Schema.Struct({ ...listed, note: optional(Schema.String) })

const List = Schema.Struct({
  reminders: Schema.Array(Listed),
  total: Schema.Int,
  note: optional(Schema.String),
  faults: Schema.Array(ScheduleFault)
})

const Deleted = Schema.Struct({
  id: Schema.String,
  deleted: Schema.Boolean,
  code: optional(Schema.Literal("schedule_not_found"))
})

/** What a list holds at most: a model reads no more at once. */
const maxListed = 200

/** What a list shows of a prompt. */
const maxPrompt = 200

const described = <A, I>(schema: Schema.Schema<A, I>, description: string) => schema.annotations({ description })

const timing = ({ minEveryIntervalSeconds }: ScheduleSettings) => ({
  every_seconds: optional(
    described(
      EveryRule.fields.every_seconds,
      `Fixed-rate interval in whole seconds, at least ${minEveryIntervalSeconds}, aligned to the creation; changing it with ` +
        "schedule_update aligns it to the save. The rule for a rhythm of elapsed time: clock changes do not touch it."
    )
  ),
  daily: optional(DailyRule.fields.daily),
  weekly: optional(WeeklyRule.fields.weekly),
  cron: optional(CronRule.fields.cron),
  at: optional(AtRule.fields.at)
})

const rules =
  "Local times follow the clock of their zone: one that the zone skips does not come that day, one that it repeats comes once, at " +
  "its earlier instant; so an hourly cron pauses for an hour when clocks go back, and every_seconds does not. In cron, when both day " +
  "fields are restricted a date matches if either does."

const failure = { failure: ScheduleToolError, failureMode: "return" } as const

const create = (settings: ScheduleSettings) =>
  Tool.make("schedule_create", {
    description:
      "Sets a reminder in this session: when it comes due its prompt comes back to you as a later turn. Give exactly one of " +
      `${selectors.join(", ")}. ${rules} After downtime a recurring reminder comes once, with its latest missed occurrence. A delivery ` +
      "may repeat after a crash. Check the next instants in the answer: they show how the rule was read.",
    parameters: {
      prompt: described(
        Schema.String,
        `What to be reminded of, at most ${settings.maxPromptLength} characters. Write it so that it makes sense by itself.`
      ),
      title: described(Schema.String, `A name of at most ${settings.maxTitleLength} characters, shown in lists.`),
      after_seconds: optional(AfterRule.fields.after_seconds),
      ...timing(settings)
    },
    success: Created,
    ...failure
  })
    .annotate(Tool.Title, "Set a reminder")
    .annotate(Tool.Destructive, false)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (value: typeof Created.Type) => reminderText("Set", value))

const list = () =>
  Tool.make("schedule_list", {
    description:
      "Lists the active reminders of this session in the order of their creation: rule, next instant, state (scheduled, overdue or " +
      "paused), and whether one also comes while nobody drives the session (delivery: host) or when it is resumed (session-local).",
    success: List,
    ...failure
  })
    .annotate(Tool.Title, "List reminders")
    .annotate(Tool.Readonly, true)
    .annotate(Tool.Destructive, false)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (value: typeof List.Type) => listText(value))

const update = (settings: ScheduleSettings) =>
  Tool.make("schedule_update", {
    description:
      "Changes a reminder in place; its id stays. Give a new title, prompt or at most one rule; what is left out stays. A new rule " +
      "counts from now and drops an overdue occurrence. A delay can't be changed: create another reminder for that. Rules are read as " +
      "schedule_create reads them.",
    parameters: {
      id: described(Schema.String, "The exact id, as schedule_list shows it."),
      title: optional(described(Schema.String, `A new name of at most ${settings.maxTitleLength} characters.`)),
      prompt: optional(described(Schema.String, "What to be reminded of from now on.")),
      ...timing(settings)
    },
    success: Created,
    ...failure
  })
    .annotate(Tool.Title, "Change a reminder")
    .annotate(Tool.Destructive, false)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (value: typeof Created.Type) => reminderText("Changed", value))

const remove = () =>
  Tool.make("schedule_delete", {
    description:
      "Deletes a reminder of this session, also one that is paused or over. A reminder message that waits already is not taken back.",
    parameters: { id: described(Schema.String, "The exact id.") },
    success: Deleted,
    ...failure
  })
    .annotate(Tool.Title, "Delete a reminder")
    .annotate(Tool.Destructive, true)
    .annotate(Tool.Idempotent, true)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, ({ deleted, id }: typeof Deleted.Type) =>
      deleted ? `Deleted ${id}.` : `There is no reminder ${id}: nothing was deleted (schedule_not_found).`
    )

/**
 * The tools, their texts according to the limits.
 *
 * @since 0.1.0
 * @category toolkits
 */
export const toolkit = (settings: ScheduleSettings) =>
  Toolkit.make(create(settings), list(), update(settings), remove())

type Service = Context.Tag.Service<Schedule>

/**
 * The handlers, on behalf of the agent that calls.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHandlers = (
  settings: ScheduleSettings
): Layer.Layer<Tool.HandlersFor<ReturnType<typeof toolkit>["tools"]>, never, Schedule> =>
  toolkit(settings).toLayer(
    Effect.map(Schedule, (schedule) => ({
      schedule_create: ({ prompt, title, ...rule }: typeof CreateInput.Type) =>
        owned((session) => Effect.map(schedule.create(session, { prompt, title, rule }), created)),
      schedule_list: () => owned((session) => Effect.map(schedule.list(session), listOf)),
      schedule_update: ({ id, prompt, title, ...rule }: typeof UpdateInput.Type) =>
        owned((session) =>
          Effect.map(
            schedule.update(session, id, { prompt, title, rule: Object.keys(rule).length === 0 ? undefined : rule }),
            shown
          )
        ),
      schedule_delete: ({ id }: { readonly id: string }) => owned((session) => deleteOne(schedule, session, id))
    }))
  )

const loose = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const CreateInput = Schema.extend(Schema.Struct({ prompt: Schema.String, title: Schema.String }), loose)

const UpdateInput = Schema.extend(
  Schema.Struct({ id: Schema.String, prompt: optional(Schema.String), title: optional(Schema.String) }),
  loose
)

const deleteOne = (schedule: Service, session: SessionId, id: string) =>
  Effect.map(schedule.delete(session, id), (deleted) =>
    deleted ? { id, deleted } : { id, deleted, code: "schedule_not_found" as const }
  )

const shown = ({ prompt: _, createdAt: __, ...view }: ReminderView): typeof Created.Type => view

const created = ({ reminder, twin }: Effect.Effect.Success<ReturnType<Service["create"]>>): typeof Created.Type => ({
  ...shown(reminder),
  ...(twin === undefined ? {} : { note: `${twin} is the same: title, prompt and rule; both will come` })
})

const listOf = ({ faults, reminders }: Effect.Effect.Success<ReturnType<Service["list"]>>): typeof List.Type => ({
  reminders: reminders.slice(0, maxListed).map((view) => ({ ...shown(view), prompt: clip(view.prompt) })),
  total: reminders.length,
  faults: faults.slice(0, 10),
  ...(reminders.length > maxListed ? { note: `${reminders.length - maxListed} later ones are not shown` } : {})
})

const clip = (text: string): string => {
  const characters = Array.from(text.slice(0, 2 * maxPrompt))
  return characters.length > maxPrompt ? `${characters.slice(0, maxPrompt - 1).join("")}…` : text
}

/** Runs a handler for the session of the agent that calls, and says what the model can do about a failure. */
const owned = <A>(
  handler: (session: SessionId) => Effect.Effect<A, ScheduleError | InvalidRule | ReadError | AppendError>
): Effect.Effect<A, ScheduleToolError> =>
  Effect.flatMap(
    Effect.serviceOption(CurrentAgent),
    Option.match({
      onNone: () => Effect.fail(noOwningSession),
      onSome: (agent: Agent) => Effect.mapError(handler(agent.id), toolError)
    })
  )

const noOwningSession = new ScheduleToolError({
  code: "no_owning_session",
  message: "reminders belong to an agent's session and this call was made outside one; nothing was stored"
})

const toolError = (error: ScheduleError | InvalidRule | ReadError | AppendError): ScheduleToolError => {
  switch (error._tag) {
    case "ScheduleError":
      return new ScheduleToolError({ code: error.code, message: error.message })
    case "InvalidRule": {
      const { code, message, suggestions } = error
      const more = suggestions.length === 0 ? "" : `; possible: ${suggestions.join(", ")}`
      return new ScheduleToolError({ code, message: message + more })
    }
    case "SessionStoreError":
      return error.reason === "unavailable"
        ? new ScheduleToolError({
            code: "persistence_uncertain",
            message: `the store failed, it is not known whether this was stored: ${error.message}; schedule_list tells`
          })
        : new ScheduleToolError({ code: "not_stored", message: `${error.message}; nothing was stored` })
    case "SessionLogCorrupt":
    case "SessionNotFound":
    case "SessionVersionUnsupported":
    case "UnknownEventType":
    case "EventRejected":
      return new ScheduleToolError({ code: "internal_error", message: error.message })
    default:
      return new ScheduleToolError({ code: "not_stored", message: `${error.message}; nothing was stored` })
  }
}

/**
 * Registers the tools, for root agents; `availableTo` decides otherwise.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: {
  readonly availableTo?: (agent: Agent) => boolean
}): Layer.Layer<never, never, Schedule | ScheduleConfig | ToolRegistry.ToolRegistry> =>
  Layer.unwrapEffect(
    Effect.map(ScheduleConfig, (settings) =>
      ToolRegistry.layerToolkit(toolkit(settings), {
        package: "@afterturn/schedule",
        requires: ["Schedule", "an agent that makes the call"],
        writes: [ScheduleChange.type],
        note: `For root agents. delivery: ${settings.delivery}, at most ${settings.maxActive} active reminders a session, every_seconds from ${settings.minEveryIntervalSeconds}`,
        availableTo: options?.availableTo ?? isRoot
      }).pipe(Layer.provide(layerHandlers(settings)))
    )
  )
