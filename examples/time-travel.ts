/**
 * Testing an agent that works for weeks, in milliseconds: the clock belongs to the test. The reminder is daily at nine in New York,
 * where clocks go forward on the 8th; in the middle the process ends and another one goes on.
 */
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as ReminderDelivery from "@afterturn/schedule/ReminderDelivery"
import * as Schedule from "@afterturn/schedule/Schedule"
import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import * as ScheduleTools from "@afterturn/schedule/ScheduleTools"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as TimeTravel from "@afterturn/testing/TimeTravel"
import { Console, Effect, Layer } from "effect"

const rule = { daily: { time: "09:00:00", time_zone: "America/New_York" } }

const model = ScriptedModel.layer({
  rules: [
    {
      on: "user",
      steps: [
        {
          calls: [{ tool: "schedule_create", input: { title: "standup", prompt: "Write the standup.", ...rule } }]
        },
        { text: "Every morning at nine." }
      ]
    },
    { on: "reminder", repeat: true, steps: [{ text: "Yesterday: tests. Today: docs." }] }
  ]
})

const runtime = Layer.mergeAll(ReminderDelivery.layer, ScheduleTools.layer()).pipe(
  Layer.provideMerge(Schedule.layer),
  Layer.provideMerge(ScheduleConfig.layer()),
  Layer.provideMerge(AgentLoop.layerRuntime()),
  Layer.provideMerge(model),
  Layer.provideMerge(SessionLog.layerMemory)
)

const scenario = TimeTravel.run(
  runtime,
  (travel) =>
    Effect.gen(function* () {
      yield* travel.say("Remind me of the standup each morning.")
      yield* travel.advance("2 days")
      yield* travel.restart
      yield* travel.advance("1 day")
      yield* Console.log(yield* travel.transcript({ times: true, maxLength: 70 }))
    }),
  { start: "2026-03-06T15:00:00.000Z" }
)

await Effect.runPromise(scenario)

// output:
// 2026-03-06T15:00:00.000Z turn 1 (user)
// 2026-03-06T15:00:00.000Z   user: Remind me of the standup each morning.
// 2026-03-06T15:00:00.000Z   call schedule_create {"prompt":"Write the standup.","title":"standup","daily":{"time":"09:0… (+38)
// 2026-03-06T15:00:00.000Z   schedule/change {"version":1,"operation":"create","record":{"id":"schedule-1","title":… (+189)
// 2026-03-06T15:00:00.000Z   result schedule_create: Set schedule-1 "standup": every day at 09:00:00 in America/New_York.
//                              N… (+228)
// 2026-03-06T15:00:00.000Z   assistant: Every morning at nine.
// 2026-03-06T15:00:00.000Z   end completed
// 2026-03-07T14:00:00.000Z schedule/change {"version":1,"operation":"dispatch","id":"schedule-1","occurrenceAt":"… (+118)
// 2026-03-07T14:00:00.000Z turn 2 (reminder)
// 2026-03-07T14:00:00.000Z   reminder: A reminder of this session is due. The JSON object below is what was n… (+319)
// 2026-03-07T14:00:00.000Z   assistant: Yesterday: tests. Today: docs.
// 2026-03-07T14:00:00.000Z   end completed
// 2026-03-08T13:00:00.000Z schedule/change {"version":1,"operation":"dispatch","id":"schedule-1","occurrenceAt":"… (+118)
// 2026-03-08T13:00:00.000Z turn 3 (reminder)
// 2026-03-08T13:00:00.000Z   reminder: A reminder of this session is due. The JSON object below is what was n… (+319)
// 2026-03-08T13:00:00.000Z   assistant: Yesterday: tests. Today: docs.
// 2026-03-08T13:00:00.000Z   end completed
// 2026-03-09T13:00:00.000Z schedule/change {"version":1,"operation":"dispatch","id":"schedule-1","occurrenceAt":"… (+118)
// 2026-03-09T13:00:00.000Z turn 4 (reminder)
// 2026-03-09T13:00:00.000Z   reminder: A reminder of this session is due. The JSON object below is what was n… (+319)
// 2026-03-09T13:00:00.000Z   assistant: Yesterday: tests. Today: docs.
// 2026-03-09T13:00:00.000Z   end completed
