import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { inProcess, workplace } from "../support/afterturn.js"
import { freshSchemaUrl, withPostgres } from "../support/postgres.js"

withPostgres(() => {
  describe("--db postgres://…", () => {
    it.scopedLive(
      "is a database like a file, and its password is shown nowhere",
      () =>
        Effect.gen(function* () {
          const place = yield* workplace
          const url = new URL(Redacted.value(yield* freshSchemaUrl))
          // The server trusts everybody.
          url.password = "hidden"
          const env = { XDG_DATA_HOME: path.join(place.folder, "data"), AFTERTURN_DB: url.href }
          const heard: Array<string> = []
          const afterturn = (...args: ReadonlyArray<string>) =>
            Effect.map(inProcess(args, { env }), (finished) => {
              heard.push(finished.stdout, finished.stderr)
              return finished
            })
          const model = ["--model", place.scripted[3] ?? ""]
          assert.strictEqual((yield* afterturn("run", "--session", "s1", ...model, "plan the release")).code, 0)
          const listed = yield* afterturn("sessions", "list", "--json")
          assert.deepStrictEqual(
            JSON.parse(listed.stdout).map(({ id }: { readonly id: string }) => id),
            ["s1"]
          )
          assert.match((yield* afterturn("todo", "show", "s1")).stdout, /Read the changelog/)
          const rule = '{"every_seconds":3600}'
          const created = yield* afterturn(
            "schedule",
            "create",
            "--session",
            "s1",
            "--title",
            "tea",
            "--rule",
            rule,
            "Pour."
          )
          assert.strictEqual(created.code, 0, created.stderr)
          assert.match((yield* afterturn("wakes", "s1")).stdout, /tea/)
          assert.match((yield* afterturn("sessions", "verify")).stdout, /s1/)
          assert.match(
            (yield* afterturn("doctor")).stdout,
            /postgres:\/\/postgres@127\.0\.0\.1:5432\/test answers \(PostgreSQL \d/
          )
          const refused = yield* afterturn("sessions", "list", "--db", "postgres://me:hidden@127.0.0.1:1/none")
          assert.strictEqual(refused.code, 1)
          assert.match(refused.stderr, /postgres:\/\/me@127\.0\.0\.1:1\/none/)
          assert.notInclude(heard.join("\n"), "hidden")
          assert.deepStrictEqual(
            fs.readdirSync(place.folder).filter((name) => name.endsWith(".db")),
            []
          )
        }),
      60_000
    )
  })
})
