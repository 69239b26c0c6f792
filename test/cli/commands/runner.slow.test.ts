import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { inProcess, start, workplace } from "../../support/afterturn.js"
import { freshSchemaUrl, withPostgres } from "../../support/postgres.js"

withPostgres(() => {
  describe("runner and send", () => {
    it.live(
      "hand a message to a session on the runner, and its own signal ends the runner in order",
      () =>
        Effect.gen(function* () {
          const { folder, scripted } = yield* workplace
          const env = { AFTERTURN_DB: Redacted.value(yield* freshSchemaUrl), XDG_DATA_HOME: path.join(folder, "data") }
          const runner = yield* start(["runner", "--model", scripted[3] ?? ""], { env })
          yield* runner.said("a runner at 127.0.0.1")
          const sent = yield* inProcess(["send", "s1", "plan the release", "--json"], { env })
          assert.strictEqual(sent.code, 0, sent.stderr)
          assert.deepStrictEqual(JSON.parse(sent.stdout), { session: "s1", message: "msg-1" })
          let todos = ""
          while (!todos.includes("changelog")) todos = (yield* inProcess(["todo", "show", "s1"], { env })).stdout
          runner.child.kill("SIGTERM")
          assert.strictEqual((yield* runner.finished).code, 143)
        }).pipe(Effect.scoped),
      120_000
    )
  })
})
