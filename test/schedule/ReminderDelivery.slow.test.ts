import { AgentModel } from "@afterturn/agent/AgentModel"
import { Schedule } from "@afterturn/schedule/Schedule"
import { format } from "@afterturn/session-log/Instant"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as TimeTravel from "@afterturn/testing/TimeTravel"
import * as Response from "@effect/ai/Response"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { breathe } from "../support/breathe.js"
import * as FakeModel from "../support/FakeModel.js"
import { dispatchesIn, forgetful, memory } from "./support/runtime.js"

const runtime = (maxSleep: Duration.DurationInput, model = FakeModel.replies().layer) =>
  memory({ maxSleep: Duration.decode(maxSleep) }, Layer.merge(model, forgetful))

/** Answers in whole parts: decoding a provider's answer takes longer than the rest of a turn. */
const curt = Layer.succeed(AgentModel, {
  route: "fake:curt",
  model: {
    generateText: () => Effect.dieMessage("this model only streams"),
    generateObject: () => Effect.dieMessage("this model only streams"),
    streamText: () =>
      Stream.make(
        Response.makePart("text-delta", { id: "t", delta: "Looked." }),
        Response.makePart("finish", {
          reason: "stop",
          usage: new Response.Usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15 })
        })
      ) as never
  }
})

const start = Date.UTC(2026, 0, 1)

const day = 86_400_000

describe("a long time", () => {
  it.live(
    "nine in the morning in three zones, every day of a year with its two changes of clocks",
    () =>
      TimeTravel.run(runtime("6 hours"), (travel) =>
        Effect.gen(function* () {
          const { id } = yield* travel.agent
          const schedule = yield* Schedule
          for (const time_zone of ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]) {
            const rule = { daily: { time: "09:00:00", time_zone } }
            yield* schedule.create(id, { title: time_zone, prompt: "Good morning.", rule })
          }
          for (let days = 0; days < 365; days += 5)
            yield* Effect.zipRight(travel.advance("5 days"), Effect.promise(breathe))
          const all = dispatchesIn(yield* travel.events)
          // Summer time: in Berlin from the last Sunday of March to that of October, in New York from 8 March to 1 November.
          const between = (at: number, from: string, to: string) => at >= Date.parse(from) && at < Date.parse(to)
          const expected = Array.from({ length: 365 }, (_, index) => {
            const midnight = start + index * day
            const berlin = between(midnight, "2026-03-29", "2026-10-25") ? 7 : 8
            const newYork = between(midnight, "2026-03-08", "2026-11-01") ? 13 : 14
            return [
              `schedule-3 ${format(midnight + 3.5 * 3_600_000)}`,
              `schedule-1 ${format(midnight + berlin * 3_600_000)}`,
              `schedule-2 ${format(midnight + newYork * 3_600_000)}`
            ]
          }).flat()
          assert.deepStrictEqual(
            all.map((each) => `${each.id} ${each.occurrenceAt}`),
            expected
          )
          assert.isTrue(
            all.every(({ acceptedAt, missed, occurrenceAt }) => missed === 0 && acceptedAt === occurrenceAt)
          )
        })
      ),
    300_000
  )

  it.live(
    "each minute of five days, at its instant",
    () =>
      TimeTravel.run(runtime("1 minute", curt), (travel) =>
        Effect.gen(function* () {
          const { id } = yield* travel.agent
          const schedule = yield* Schedule
          yield* schedule.create(id, { title: "pulse", prompt: "Look.", rule: { every_seconds: 60 } })
          for (let hours = 0; hours < 120; hours++)
            yield* Effect.zipRight(travel.advance("1 hour"), Effect.promise(breathe))
          const log = yield* SessionLog
          const changes = yield* Stream.runCollect(log.read(id, { types: ["schedule/change"] }))
          assert.deepStrictEqual(
            dispatchesIn(Array.from(changes)).map(({ acceptedAt, missed, occurrenceAt }) => [
              occurrenceAt,
              acceptedAt,
              missed
            ]),
            Array.from({ length: 7_200 }, (_, index) => {
              const at = format(start + (index + 1) * 60_000)
              return [at, at, 0]
            })
          )
        })
      ),
    600_000
  )
})
