/** Runtimes whose agents keep reminders, and what tests ask of them. */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import type { AgentModel } from "@afterturn/agent/AgentModel"
import * as Compaction from "@afterturn/agent/Compaction"
import * as ReminderDelivery from "@afterturn/schedule/ReminderDelivery"
import * as Schedule from "@afterturn/schedule/Schedule"
import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import type { ScheduleChangeData } from "@afterturn/schedule/ScheduleEvents"
import { ScheduleChange } from "@afterturn/schedule/ScheduleEvents"
import * as ScheduleTools from "@afterturn/schedule/ScheduleTools"
import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLeases } from "@afterturn/session-log/SessionLeases"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** Answers whatever it is asked. */
const agreeable = Layer.orDie(ScriptedModel.layer({ rules: [{ on: "any", steps: [{ text: "noted" }], repeat: true }] }))

type Log = SessionLog.SessionLog | Projections | SessionLeases | SessionAlarms | EventTypes | SessionStore

/** Agents that deliver their reminders, with the tools, over a log. */
export const over = <E, R>(
  log: Layer.Layer<Log, E, R>,
  options?: Partial<ScheduleConfig.ScheduleSettings>,
  model: Layer.Layer<AgentModel, never, Projections> = agreeable
) =>
  Layer.mergeAll(ReminderDelivery.layer, ScheduleTools.layer()).pipe(
    Layer.provideMerge(Schedule.layer),
    Layer.provideMerge(Layer.orDie(ScheduleConfig.layer(options))),
    Layer.provideMerge(
      AgentLoop.layerRuntime({ timeZone: "UTC", modelSilence: Duration.days(1), maxHistoryTokens: 2_000 })
    ),
    Layer.provideMerge(model),
    Layer.provideMerge(log)
  )

/** Without it each turn would send all that came before. */
export const forgetful = Layer.succeed(Compaction.Compaction, {
  summarize: () => Effect.succeed({ summary: "Reminders came and were noted.", kept: [] })
})

/** In memory. */
export const memory = (
  options?: Partial<ScheduleConfig.ScheduleSettings>,
  model?: Layer.Layer<AgentModel, never, Projections>
) => over(SessionLog.layerMemory, options, model)

/** The changes of reminders among events. */
export const changesIn = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<ScheduleChangeData> =>
  events.flatMap((event) => (event.type === ScheduleChange.type ? [event.data as ScheduleChangeData] : []))

export type Dispatch = Extract<ScheduleChangeData, { readonly operation: "dispatch" }>

export const dispatchesIn = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<Dispatch> =>
  changesIn(events).flatMap((change) => (change.operation === "dispatch" ? [change] : []))

/** The occurrences that each turn brought to the model. */
export const turnsIn = (events: ReadonlyArray<SessionEvent>): ReadonlyArray<ReadonlyArray<string>> => {
  const turns: Array<Array<string>> = []
  for (const event of events) {
    if (event.type === AgentEvents.TurnStart.type) turns.push([])
    if (event.type !== AgentEvents.UserMessage.type) continue
    const { source } = event.data as { readonly source: AgentSource }
    if (source.kind === "reminder") {
      turns.at(-1)?.push(...source.occurrences.map(({ id, occurrenceAt }) => `${id} ${occurrenceAt}`))
    } else turns.at(-1)?.push(source.kind)
  }
  return turns
}

type AgentSource =
  | {
      readonly kind: "reminder"
      readonly occurrences: ReadonlyArray<{ readonly id: string; readonly occurrenceAt: string }>
    }
  | { readonly kind: "user" }

export const eventsOf = (id: SessionId) =>
  Effect.flatMap(SessionLog.SessionLog, (log) =>
    Effect.map(Stream.runCollect(log.read(id)), (events) => Array.from(events))
  )
