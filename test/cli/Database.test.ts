import * as Database from "@afterturn/cli/Database"
import * as Path from "@effect/platform/Path"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

const resolve = (given: string | undefined, env: Readonly<Record<string, string>>) =>
  Database.resolve(Option.fromNullable(given)).pipe(
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)))),
    Effect.provide(Path.layer),
    Effect.merge
  )

describe("Database.resolve", () => {
  it.effect("prefers the option, then AFTERTURN_DB, then the XDG data folder, then the home folder", () =>
    Effect.gen(function* () {
      const env = { AFTERTURN_DB: "env.db", XDG_DATA_HOME: "/data", HOME: "/home/me" }
      assert.strictEqual(yield* resolve("given.db", env), "given.db")
      assert.strictEqual(yield* resolve(undefined, env), "env.db")
      const { AFTERTURN_DB: _, ...withoutDb } = env
      assert.strictEqual(yield* resolve(undefined, withoutDb), "/data/afterturn/afterturn.db")
      const home = "/home/me/.local/share/afterturn/afterturn.db"
      assert.strictEqual(yield* resolve(undefined, { HOME: "/home/me" }), home)
    })
  )

  it.effect("passes over variables that are empty, and a relative data folder", () =>
    Effect.gen(function* () {
      const env = { AFTERTURN_DB: "", XDG_DATA_HOME: "data", HOME: "/home/me" }
      assert.strictEqual(yield* resolve(undefined, env), "/home/me/.local/share/afterturn/afterturn.db")
    })
  )

  it.effect("refuses what begins like a server and is none, without repeating a password", () =>
    Effect.gen(function* () {
      for (const db of ["postgres:hidden", "postgres://me:hidden@", "postgresql:mysql://me:hidden@host/x"]) {
        const error = yield* resolve(db, {})
        assert.deepInclude(error, { code: "usage" })
        assert.notInclude(JSON.stringify(error), "hidden")
        assert.deepInclude(yield* resolve(undefined, { AFTERTURN_DB: db }), { code: "usage" })
      }
    })
  )

  it.effect("says what to set where there is no place", () =>
    Effect.gen(function* () {
      const error = yield* resolve(undefined, {})
      assert.deepInclude(error, { code: "usage", exit: 2 })
    })
  )
})

describe("Database.target", () => {
  it("tells servers from files, and shows no password", () => {
    for (const db of [
      "postgres://me:hidden@host:5433/sessions?sslmode=require",
      "postgresql://me:hidden@host:5433/sessions",
      "postgres:postgresql://me:hidden@host:5433/sessions?password=hidden"
    ]) {
      const target = Database.target(db)
      assert.strictEqual(Database.shown(db), "postgres://me@host:5433/sessions")
      if (target._tag !== "Server") assert.fail("expected a server")
      assert.notInclude(JSON.stringify(target), "hidden")
      assert.match(Redacted.value(target.url), /^postgres(ql)?:\/\/me:hidden@host:5433\/sessions/)
    }
    for (const [db, file] of [
      ["sqlite:a.db", "a.db"],
      ["./postgres:a.db", "./postgres:a.db"],
      [":memory:", ":memory:"]
    ] as const) {
      assert.deepStrictEqual(Database.target(db), { _tag: "File", file })
    }
  })
})
