import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Workplace } from "../../support/afterturn.js"
import { inProcess, jsonLines, start, workplace } from "../../support/afterturn.js"

const goal = (place: Workplace, verb: string, ...args: ReadonlyArray<string>) =>
  inProcess(["goal", verb, "--session", "s1", "--db", place.db, ...args])

const shown = (stdout: string) => (JSON.parse(stdout) as { readonly goal: Record<string, unknown> | null }).goal

const session = (place: Workplace) => inProcess(["run", ...place.scripted, "--session", "s1", "hello"])

describe("the goal of a session that no process drives", () => {
  it.live(
    "is set, shown, changed, paused, resumed and cleared under the session's lease",
    () =>
      Effect.gen(function* () {
        const place = yield* workplace
        yield* session(place)
        assert.deepStrictEqual((yield* goal(place, "show")).stdout, "no goal\n")
        const created = yield* goal(place, "create", "--max-rounds", "4", "--max-duration", "2h", "ship it")
        assert.strictEqual(created.code, 0)
        assert.include(created.stdout, "goal-1 at revision 1: active, disarmed, 0 of 4 rounds started")
        assert.include(created.stderr, "afterturn run --session s1 --goal goal-1")
        yield* goal(place, "edit", "--max-tokens", "500", "ship it well")
        yield* goal(place, "pause")
        const paused = yield* goal(place, "show", "--json")
        assert.deepInclude(shown(paused.stdout), {
          objective: "ship it well",
          phase: "paused",
          revision: 3,
          maxTokens: 500,
          maxDurationMs: 7_200_000,
          activation: "disarmed"
        })
        yield* goal(place, "resume")
        const cleared = yield* goal(place, "clear")
        assert.strictEqual(cleared.stdout, "the goal is cleared\n")
        assert.isNull(shown((yield* goal(place, "show", "--json")).stdout))
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "is refused what cannot be, under a stable code",
    () =>
      Effect.gen(function* () {
        const place = yield* workplace
        yield* session(place)
        const code = (finished: { readonly stderr: string }) =>
          (JSON.parse(finished.stderr) as { readonly error: { readonly code: string } }).error.code
        assert.strictEqual(code(yield* goal(place, "pause", "--json")), "no_goal")
        yield* goal(place, "create", "ship it")
        assert.strictEqual(code(yield* goal(place, "create", "--json", "another")), "goal_exists")
        assert.strictEqual(code(yield* goal(place, "edit", "--json")), "invalid_goal")
        const nobody = yield* inProcess(["goal", "show", "--session", "s2", "--db", place.db, "--json"])
        assert.strictEqual(code(nobody), "session_not_found")
      }).pipe(Effect.scoped),
    120_000
  )
})

/** A model whose first round takes until the test has seen enough. */
const patientScript = (place: Workplace) => {
  const file = path.join(place.folder, "patient.json")
  const rules = [{ on: "goal-round", repeat: true, steps: [{ fail: { status: 503, retryAfter: 3600 } }] }]
  fs.writeFileSync(file, JSON.stringify({ rules, otherwise: [{ text: "Done." }] }))
  return ["--db", place.db, "--model", `scripted:${file}`]
}

describe("the goal of a session that another process drives", () => {
  it.live(
    "is shown as that process knows it, and changed by it",
    () =>
      Effect.gen(function* () {
        const place = yield* workplace
        const holder = yield* start(["run", ...patientScript(place), "--session", "s1", "--goal", "ship it"])
        yield* holder.said("asking the model again")
        const live = yield* goal(place, "show", "--json")
        assert.deepInclude(shown(live.stdout), { phase: "active", activation: "armed", roundsStarted: 1 })
        const wakes = yield* inProcess(["wakes", "s1", "--db", place.db, "--json"])
        const kinds = JSON.parse(wakes.stdout) as ReadonlyArray<{ readonly kind: string; readonly detail: object }>
        assert.deepInclude(kinds.find(({ kind }) => kind === "goal")?.detail, { activation: "armed", roundsLeft: 255 })
        const edited = yield* goal(place, "edit", "--json", "ship it well")
        assert.deepInclude(shown(edited.stdout), { objective: "ship it well", revision: 2 })
        holder.child.kill("SIGINT")
        const { code } = yield* holder.finished
        assert.strictEqual(code, 130)
        // A person ended the work.
        assert.deepInclude(shown((yield* goal(place, "show", "--json")).stdout), { phase: "paused", revision: 3 })
        const events = yield* inProcess(["sessions", "export", "s1", "--db", place.db])
        assert.strictEqual(jsonLines(events.stdout).filter(({ type }) => type === "goal/change").length, 3)
      }).pipe(Effect.scoped),
    120_000
  )
})
