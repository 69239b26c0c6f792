import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { holding, inProcess, start, workplace } from "../../support/afterturn.js"

const keyed = { OPENAI_API_KEY: "sk-secret-1" }

const doctor = (db: string, env?: Record<string, string>) => inProcess(["doctor", "--db", db], env ? { env } : {})

describe("doctor", () => {
  it.live("finds a new place sound, makes no database and shows no key", () =>
    Effect.gen(function* () {
      const { db, folder } = yield* workplace
      const { code, stderr, stdout } = yield* doctor(db, keyed)
      assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
      assert.match(stdout, /^ok {4}node +\d+\.\d+\.\d+$/m)
      assert.include(stdout, `none yet at ${db}; the first run makes it (SQLite 3.`)
      assert.match(stdout, /^ok {4}disk +[\d.]+ MiB free at /m)
      assert.match(stdout, /^ok {4}models +OPENAI_API_KEY set$/m)
      assert.match(stdout, /^ok {4}time zones +\d+ known, /m)
      assert.notInclude(stdout, "secret")
      assert.isFalse(fs.existsSync(path.join(folder, "sessions.db")))
    }).pipe(Effect.scoped)
  )

  it.live("says who drives what, of a database that is sound", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { child, said } = yield* start(["run", ...place.scripted, "--session", "s1", "hold"])
      yield* said(holding)
      const { code, stdout } = yield* doctor(place.db)
      assert.strictEqual(code, 0)
      assert.match(stdout, /^ok {4}database +.+sessions\.db is sound \(SQLite 3\.\d+\.\d+, schema \d+, wal on /m)
      assert.match(
        stdout,
        new RegExp(`^ok {4}sessions +1 sessions, driven: s1 by .+ \\(pid ${child.pid}\\) until \\d`, "m")
      )
    }).pipe(Effect.scoped)
  )

  it.live("exits 1 and says what is wrong, a line each", () =>
    Effect.gen(function* () {
      const { db } = yield* workplace
      fs.writeFileSync(db, "not a database at all")
      const { code, stderr, stdout } = yield* doctor(db, { AFTERTURN_MODEL: "anthropic:x" })
      assert.strictEqual(code, 1)
      assert.match(
        stdout,
        /^WRONG database +expected a session log database at .+, it is none; it was left untouched$/m
      )
      assert.match(
        stdout,
        /^WRONG models +AFTERTURN_MODEL is anthropic:x, which needs ANTHROPIC_API_KEY: it is not set$/m
      )
      assert.strictEqual(stderr, "afterturn: wrong: database, models\n")
    }).pipe(Effect.scoped)
  )

  it.live("names a damaged page of a database that still opens", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      yield* inProcess(["run", ...place.scripted, "--session", "s1", "plan it"])
      const file = fs.openSync(place.db, "r+")
      // Beyond the schema's own pages: opening reads none of it.
      fs.writeSync(file, Buffer.alloc(4096, 0x5a), 0, 4096, 5 * 4096)
      fs.closeSync(file)
      const { code, stdout } = yield* doctor(place.db)
      assert.strictEqual(code, 1)
      assert.match(stdout, /^WRONG database +/m)
    }).pipe(Effect.scoped)
  )

  it.live("answers as JSON", () =>
    Effect.gen(function* () {
      const { db } = yield* workplace
      const { stdout } = yield* inProcess(["doctor", "--json", "--db", db])
      const findings = JSON.parse(stdout) as ReadonlyArray<{ readonly check: string; readonly ok: boolean }>
      assert.deepStrictEqual(
        findings.map(({ check, ok }) => [check, ok]),
        ["node", "database", "disk", "job output", "models", "time zones"].map((check) => [check, true])
      )
    }).pipe(Effect.scoped)
  )
})
