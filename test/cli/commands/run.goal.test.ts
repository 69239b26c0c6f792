import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Workplace } from "../../support/afterturn.js"
import { inProcess, jsonLines, workplace } from "../../support/afterturn.js"

const complete = {
  tool: "update_goal",
  input: { goal_id: "{{result.goal.id}}", revision: "{{result.goal.revision}}", action: "complete" }
}

/** Works in the first round, and completes the goal in the second, over and over. */
const script = (place: Workplace, rules?: ReadonlyArray<object>) => {
  const file = path.join(place.folder, "goal.json")
  const usual = [
    { on: "goal-round", match: "Round 1 of", steps: [{ text: "I begin." }] },
    {
      on: "goal-round",
      repeat: true,
      steps: [{ calls: [{ tool: "get_goal", input: {} }] }, { calls: [complete] }, { text: "It is done." }]
    }
  ]
  fs.writeFileSync(file, JSON.stringify({ rules: rules ?? usual, otherwise: [{ text: "Nothing to do." }] }))
  return ["run", "--db", place.db, "--model", `scripted:${file}`, "--session", "s1"]
}

const turns = (place: Workplace) =>
  Effect.map(inProcess(["sessions", "export", "s1", "--db", place.db]), ({ stdout }) =>
    jsonLines(stdout).flatMap(({ data, type }) =>
      type === "turn/start" ? [(data as { readonly source: { readonly kind: string } }).source.kind] : []
    )
  )

describe("run --goal", () => {
  it.live("works a goal to its end, round by round, and says so", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { code, stderr, stdout } = yield* inProcess([...script(place), "--goal", "ship it"])
      assert.deepStrictEqual({ code, stdout }, { code: 0, stdout: "I begin.\nIt is done.\n" })
      assert.include(stderr, "goal-1, round 2\n")
      assert.isTrue(stderr.endsWith("goal-1 at revision 2: complete, 2 of 256 rounds started\n"))
      assert.deepStrictEqual(yield* turns(place), ["goal-round", "goal-round"])
    }).pipe(Effect.scoped)
  )

  it.live("exits 3 with the reason when the goal is stopped, and goes on where that left off", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const args = script(place)
      const stopped = yield* inProcess([...args, "--goal", "ship it", "--max-rounds", "1"])
      assert.strictEqual(stopped.code, 3)
      assert.include(stopped.stderr, "goal-1 at revision 2: blocked, 1 of 1 rounds started: round-limit")
      const json = yield* inProcess([...args, "--goal", "ship it", "--json"])
      assert.strictEqual(json.code, 1)
      assert.include(json.stderr, '"budget_exhausted"')
      const other = yield* inProcess([...args, "--goal", "something else"])
      assert.include(other.stderr, "goal-1 at revision 2 (blocked)")
      const done = yield* inProcess([...args, "--goal", "goal-1", "--max-rounds", "3"])
      assert.strictEqual(done.code, 0)
      assert.include(done.stderr, "complete, 2 of 3 rounds started")
    }).pipe(Effect.scoped)
  )

  it.live("takes no completion that the check does not pass, and tells the model why", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const file = path.join(place.folder, "tries")
      const check = `echo one more >> ${file}; test $(wc -l < ${file}) -ge 2`
      const { code, stderr } = yield* inProcess([...script(place), "--goal", "ship it", "--check", check])
      assert.strictEqual(code, 0)
      assert.include(stderr, "completion_refused")
      assert.include(stderr, "complete, 3 of 256 rounds started")
    }).pipe(Effect.scoped)
  )

  it.live(
    "ends with the goal's budget although notices may not wake any more, and names nothing that is not left",
    () =>
      Effect.gen(function* () {
        const place = yield* workplace
        const nap = { tool: "bash", input: { description: "nap", command: "true", run_in_background: true } }
        // Each notice starts the next job, until the wake budget is spent; the rounds go on.
        const rules = [
          { on: "job-notice", repeat: true, steps: [{ calls: [nap] }, { text: "Again." }] },
          { on: "goal-round", repeat: true, steps: [{ calls: [nap] }, { text: "On." }] }
        ]
        const { code, stderr } = yield* inProcess([...script(place, rules), "--goal", "ship it", "--max-rounds", "3"])
        assert.strictEqual(code, 3)
        assert.include(stderr, "3 of at most 3 rounds were started")
        const kinds = yield* turns(place)
        assert.strictEqual(kinds.filter((kind) => kind === "goal-round").length, 3)
        assert.strictEqual(kinds.filter((kind) => kind === "job-notice").length, 3)
        assert.include(stderr, "the notice waits for the next turn")
      }).pipe(Effect.scoped)
  )

  it.live("stays for the goal that a prompt has the model create", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const create = { tool: "create_goal", input: { objective: "ship it" } }
      const rules = [
        { on: "user", steps: [{ calls: [create] }, { text: "I go to work." }] },
        {
          on: "goal-round",
          steps: [{ calls: [{ tool: "get_goal", input: {} }] }, { calls: [complete] }, { text: "Done." }]
        }
      ]
      const { code, stdout } = yield* inProcess([...script(place, rules), "ship it, whatever it takes"])
      assert.deepStrictEqual({ code, stdout }, { code: 0, stdout: "I go to work.\nDone.\n" })
    }).pipe(Effect.scoped)
  )

  it.live("rests when its time is over, and the next run goes on", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const rules = [{ on: "goal-round", repeat: true, steps: [{ fail: { status: 503, retryAfter: 3600 } }] }]
      const held = yield* inProcess([...script(place, rules), "--goal", "ship it", "--max-wait", "500ms"])
      assert.strictEqual(held.code, 1)
      const shown = yield* inProcess(["goal", "show", "--session", "s1", "--db", place.db])
      assert.include(shown.stdout, "goal-1 at revision 1: active, disarmed, 1 of 256 rounds started")
      const done = yield* inProcess([...script(place), "--goal", "ship it"])
      assert.strictEqual(done.code, 0)
      assert.include(done.stderr, "goal-1 at revision 2: complete, 2 of 256 rounds started")
    }).pipe(Effect.scoped)
  )

  it.live("says what belongs together on the command line", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const both = yield* inProcess([...script(place), "--goal", "x", "hello"])
      assert.deepStrictEqual(both.code, 2)
      const alone = yield* inProcess([...script(place), "--max-rounds", "3", "hello"])
      assert.include(alone.stderr, "--max-rounds belongs to --goal")
      const nothing = yield* inProcess(script(place))
      assert.strictEqual(nothing.code, 2)
    }).pipe(Effect.scoped)
  )
})
