import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, start, workplace } from "../../support/afterturn.js"

describe("host", () => {
  it.live(
    "delivers a reminder to a session that no process drives, and lets go",
    () =>
      Effect.gen(function* () {
        const place = yield* workplace
        const on = ["--session", "s1", "--db", place.db]
        yield* inProcess(["run", "--session", "s1", ...place.scripted, "hello"])
        const host = yield* start(["host", ...place.scripted])
        yield* host.said("waiting for reminders")
        const rule = '{"after_seconds":1}'
        assert.strictEqual(
          (yield* inProcess(["schedule", "create", ...on, "--title", "tea", "--rule", rule, "Pour."])).code,
          0
        )
        yield* host.said("session s1: a reminder is due")
        let outcome = ""
        while (outcome !== "delivered") {
          const { stdout } = yield* inProcess(["schedule", "history", ...on, "schedule-1", "--json"])
          outcome = JSON.parse(stdout).occurrences[0]?.outcome ?? ""
        }
        // Another process may drive it again.
        let code: number | null = 1
        while (code !== 0) code = (yield* inProcess(["run", "--session", "s1", ...place.scripted, "go on"])).code
      }).pipe(Effect.scoped),
    60_000
  )
})
