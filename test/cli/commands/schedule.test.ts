import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { holding, inProcess, jsonLines, start, workplace } from "../../support/afterturn.js"

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

const daily = '{"daily":{"time":"09:00:00","time_zone":"Europe/Berlin"}}'

describe("schedule", () => {
  const begun = Effect.gen(function* () {
    const place = yield* workplace
    yield* inProcess(["run", "--session", "s1", ...place.scripted, "hello"])
    const schedule = (command: string, ...args: ReadonlyArray<string>) =>
      inProcess(["schedule", command, "--session", "s1", "--db", place.db, ...args])
    return { place, schedule }
  })

  it.live("sets, lists, changes and deletes reminders of a session that nobody drives", () =>
    Effect.gen(function* () {
      const { schedule } = yield* begun
      assert.strictEqual((yield* schedule("list")).stdout, "no reminders\n")
      const made = yield* schedule("create", "--title", "standup", "--rule", daily, "Join.")
      assert.match(made.stdout, /^schedule-1 "standup" scheduled: every day at 09:00:00 in Europe\/Berlin\n {2}\d{4}-/)
      const again = yield* schedule("create", "--title", "standup", "--rule", daily, "Join.", "--json")
      assert.deepInclude(JSON.parse(again.stdout), { twin: "schedule-1" })
      const [first, ...others] = JSON.parse((yield* schedule("list", "--json")).stdout)
      assert.lengthOf(others, 1)
      assert.deepInclude(first, { id: "schedule-1", title: "standup", state: "scheduled", delivery: "host" })
      assert.include((yield* schedule("list")).stdout, "schedule-2")
      const changed = yield* schedule("update", "schedule-1", "--title", "later", "--rule", '{"every_seconds":3600}')
      assert.include(changed.stdout, 'schedule-1 "later" scheduled: every 1 hour')
      assert.include((yield* schedule("pause", "schedule-1")).stdout, "paused")
      assert.include((yield* schedule("resume", "schedule-1")).stdout, "scheduled")
      assert.strictEqual((yield* schedule("delete", "schedule-2")).stdout, "deleted schedule-2\n")
      const gone = yield* schedule("delete", "schedule-2", "--json")
      assert.deepStrictEqual([gone.code, JSON.parse(gone.stderr).error.code], [1, "schedule_not_found"])
      const bad = yield* schedule("create", "--title", "x", "--rule", '{"every_seconds":1}', "y", "--json")
      assert.deepStrictEqual([bad.code, JSON.parse(bad.stderr).error.code], [1, "frequency_too_high"])
    }).pipe(Effect.scoped)
  )

  it.live("what is run by hand is told by the next run, and by the history", () =>
    Effect.gen(function* () {
      const { place, schedule } = yield* begun
      yield* schedule("create", "--title", "standup", "--rule", daily, "Join.")
      assert.strictEqual((yield* schedule("run-now", "schedule-1")).code, 0)
      const run = yield* inProcess(["run", "--session", "s1", ...place.scripted, "and now?"])
      assert.include(run.stderr, "schedule-1 is due at ")
      const history = JSON.parse((yield* schedule("history", "schedule-1", "--json")).stdout)
      assert.deepInclude(history.occurrences[0], { byHand: true, outcome: "delivered" })
      assert.include((yield* schedule("history", "schedule-1")).stdout, "by hand")
    }).pipe(Effect.scoped)
  )

  it.live("a run stays for what is due within its bound, and names what is beyond", () =>
    Effect.gen(function* () {
      const { place, schedule } = yield* begun
      yield* schedule("create", "--title", "soon", "--rule", '{"after_seconds":2}', "Now.")
      yield* schedule("create", "--title", "tomorrow", "--rule", '{"after_seconds":86400}', "Then.")
      const run = yield* inProcess(["run", "--session", "s1", "--max-wait", "20s", ...place.scripted, "hi", "--json"])
      assert.strictEqual(run.code, 0)
      const types = jsonLines(run.stdout).map(({ type }) => type)
      assert.strictEqual(types.filter((type) => type === "turn/start").length, 2)
      const { left } = JSON.parse(run.stderr)
      assert.deepStrictEqual(
        left.reminders.map(({ id, title }: { readonly id: string; readonly title: string }) => [id, title]),
        [["schedule-2", "tomorrow"]]
      )
    }).pipe(Effect.scoped)
  )

  it.live("a session that another process drives is changed there", () =>
    Effect.gen(function* () {
      const { place, schedule } = yield* begun
      const holder = yield* start(["run", "--session", "s1", ...place.scripted, "hold"])
      yield* holder.said(holding)
      const made = yield* schedule("create", "--title", "standup", "--rule", daily, "Join.", "--json")
      assert.strictEqual(made.code, 0, made.stderr)
      assert.deepInclude(JSON.parse(made.stdout).reminder, { id: "schedule-1" })
      const bad = yield* schedule("pause", "schedule-7", "--json")
      assert.deepStrictEqual([bad.code, JSON.parse(bad.stderr).error.code], [1, "schedule_not_found"])
    }).pipe(Effect.scoped)
  )

  it.live("says that there is no such session", () =>
    Effect.gen(function* () {
      const { place } = yield* begun
      const { code, stderr } = yield* inProcess(["schedule", "list", "--session", "nobody", "--db", place.db, "--json"])
      assert.deepStrictEqual([code, JSON.parse(stderr).error.code], [1, "session_not_found"])
    }).pipe(Effect.scoped)
  )
})
