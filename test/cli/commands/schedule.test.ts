import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess } from "../../support/afterturn.js"

const rule = '{"cron":{"expression":"30 2 * * *","time_zone":"America/New_York"}}'

const preview = (...args: ReadonlyArray<string>) => inProcess(["schedule", "preview", ...args])

describe("schedule preview", () => {
  it.live("shows coming occurrences, in UTC and local time, and what clocks skip", () =>
    Effect.gen(function* () {
      const args = ["--rule", rule, "--from", "2026-03-07T12:00:00Z", "--count", "2"]
      const note = "2026-03-08T02:30:00 before it is skipped: clocks go from 2026-03-08T02:00:00 to 2026-03-08T03:00:00"
      assert.deepStrictEqual(JSON.parse((yield* preview(...args, "--json")).stdout), [
        { at: "2026-03-09T06:30:00.000Z", local: "2026-03-09T02:30:00-04:00", note },
        { at: "2026-03-10T06:30:00.000Z", local: "2026-03-10T02:30:00-04:00" }
      ])
      assert.strictEqual(
        (yield* preview(...args)).stdout,
        "at 02:30 every day in America/New_York\n" +
          `2026-03-09T06:30:00.000Z  2026-03-09T02:30:00-04:00  ${note}\n` +
          "2026-03-10T06:30:00.000Z  2026-03-10T02:30:00-04:00\n"
      )
    })
  )

  it.live("shows five from now on by default, fewer when no more come", () =>
    Effect.gen(function* () {
      assert.lengthOf(JSON.parse((yield* preview("--rule", '{"every_seconds":60}', "--json")).stdout), 5)
      assert.lengthOf(JSON.parse((yield* preview("--rule", '{"after_seconds":60}', "--json")).stdout), 1)
    })
  )

  it.live("names what is wrong with a rule by its code", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* preview("--rule", rule.replace("York", "Yrok"), "--json")
      const { error } = JSON.parse(stderr)
      assert.deepStrictEqual([code, error.code], [1, "invalid_time_zone"])
      assert.include(error.message, "did you mean America/New_York?")
    })
  )

  it.live("names what is wrong with the command line", () =>
    Effect.gen(function* () {
      for (const [args, problem] of [
        [["--rule", "daily"], "--rule: expected JSON"],
        [["--rule", rule, "--from", "yesterday"], "--from: expected an RFC 3339 date-time"],
        [["--rule", rule, "--count", "0"], "--count: expected a number from 1"],
        [["--rule", rule, "--count", "10001"], "--count: expected at most 10000"],
        [[], "--rule"]
      ] as const) {
        const { code, stderr } = yield* preview(...args)
        assert.strictEqual(code, 2)
        assert.include(stderr, problem)
      }
    })
  )
})
