import * as Database from "@afterturn/cli/Database"
import * as Path from "@effect/platform/Path"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

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

  it.effect("says what to set where there is no place", () =>
    Effect.gen(function* () {
      const error = yield* resolve(undefined, {})
      assert.deepInclude(error, { code: "usage", exit: 2 })
    })
  )
})
