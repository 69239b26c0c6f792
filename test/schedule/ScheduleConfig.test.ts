import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

const settings = (options?: Parameters<typeof ScheduleConfig.layer>[0]) =>
  Effect.provide(ScheduleConfig.ScheduleConfig, ScheduleConfig.layer(options))

describe("the configuration of reminders", () => {
  it.effect("has defaults, and takes what differs", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* settings(), {
        delivery: "session-local",
        minEveryIntervalSeconds: 60,
        maxActive: 1000,
        maxOverduePerTurn: 20
      })
      const changed = yield* settings({ minEveryIntervalSeconds: 300, maxSleep: Duration.seconds(5) })
      assert.strictEqual(changed.minEveryIntervalSeconds, 300)
      assert.strictEqual(Duration.toMillis(changed.maxSleep), 5000)
    })
  )

  for (const options of [
    { maxActive: 0 },
    { maxOverduePerTurn: 1.5 },
    { maxPromptLength: Number.NaN },
    { maxSleep: Duration.days(30) },
    { delivery: "pigeon" as never }
  ]) {
    it.effect(`refuses ${JSON.stringify(options)} at the start`, () =>
      Effect.map(Effect.flip(settings(options)), (error) => {
        assert.strictEqual(error._tag, "InvalidScheduleConfig")
        assert.include(error.message, Object.keys(options)[0] ?? "")
      })
    )
  }
})
