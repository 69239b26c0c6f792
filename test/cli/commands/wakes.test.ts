import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, workplace } from "../../support/afterturn.js"

describe("wakes", () => {
  it.live("shows what can wake a session that no process drives", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      yield* inProcess(["run", ...place.scripted, "--session", "s1", "hello"])
      yield* inProcess(["goal", "create", "--session", "s1", "--db", place.db, "--max-rounds", "3", "ship it"])
      const json = yield* inProcess(["wakes", "s1", "--db", place.db, "--json"])
      const found = JSON.parse(json.stdout) as ReadonlyArray<{ readonly kind: string; readonly detail: object }>
      assert.deepStrictEqual(
        found.map(({ kind }) => kind),
        ["wake-budget", "goal"]
      )
      assert.deepInclude(found[1]?.detail, { phase: "active", activation: "disarmed", roundsLeft: 3 })
      const text = yield* inProcess(["wakes", "s1", "--db", place.db])
      assert.include(text.stdout, "goal-1 at revision 1: active, disarmed, 0 of 3 rounds started")
      const nobody = yield* inProcess(["wakes", "s2", "--db", place.db])
      assert.strictEqual(nobody.code, 1)
    }).pipe(Effect.scoped)
  )
})
