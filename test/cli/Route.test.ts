import * as Route from "@afterturn/cli/Route"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

const resolve = (given: string | undefined, env: Readonly<Record<string, string>>) =>
  Route.resolve(Option.fromNullable(given)).pipe(
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)))),
    Effect.merge
  )

describe("Route.resolve", () => {
  it.effect("prefers the option to AFTERTURN_MODEL, and says what to set without either", () =>
    Effect.gen(function* () {
      const env = { AFTERTURN_MODEL: "scripted:env.json" }
      assert.strictEqual(yield* resolve("scripted:given.json", env), "scripted:given.json")
      assert.strictEqual(yield* resolve(undefined, env), "scripted:env.json")
      assert.deepInclude(yield* resolve(undefined, { AFTERTURN_MODEL: "" }), { code: "usage", exit: 2 })
    })
  )

  it.effect("falls back to the provider whose key there is, Anthropic's first", () =>
    Effect.gen(function* () {
      const keys = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "b" }
      assert.match(String(yield* resolve(undefined, keys)), /^anthropic:/)
      assert.match(String(yield* resolve(undefined, { ...keys, ANTHROPIC_API_KEY: "\n" })), /^openai:/)
      assert.strictEqual(yield* resolve(undefined, { ...keys, AFTERTURN_MODEL: "openai:x" }), "openai:x")
    })
  )
})
