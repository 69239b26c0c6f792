import * as AgentModel from "@afterturn/agent/AgentModel"
import * as Model from "@afterturn/cli/Compose/Model"
import { layerMemory } from "@afterturn/session-log/SessionLog"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const withEnv = (env: Readonly<Record<string, string>>) =>
  Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env))))

/** The route of the model that there is, or what is said in place of it. */
const load = (options: Model.ModelOptions, env: Readonly<Record<string, string>>) =>
  Model.load(options).pipe(
    withEnv(env),
    Effect.flatMap((layer) =>
      Effect.map(AgentModel.AgentModel, ({ route }) => route).pipe(Effect.provide(Layer.provide(layer, layerMemory)))
    ),
    Effect.catchAll((error) => Effect.succeed(error.message)),
    Effect.provide(NodeContext.layer)
  )

const key = "sk-secret-123"

describe("load", () => {
  it.effect("finds the key of each provider in the environment", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* load({ route: "anthropic:a" }, { ANTHROPIC_API_KEY: `${key}\n` }), "anthropic:a")
      assert.strictEqual(yield* load({ route: "openai:b:c" }, { OPENAI_API_KEY: key }), "openai:b:c")
    })
  )

  it.effect("says which key is missing, unless a server is named", () =>
    Effect.gen(function* () {
      assert.include(yield* load({ route: "anthropic:a" }, { OPENAI_API_KEY: key }), "set ANTHROPIC_API_KEY")
      assert.include(yield* load({ route: "openai:b" }, { OPENAI_API_KEY: " " }), "set OPENAI_API_KEY")
      const baseUrl = "http://localhost:11434/v1"
      assert.strictEqual(yield* load({ route: "openai:b", baseUrl }, {}), "openai:b")
      assert.strictEqual(yield* load({ route: "anthropic:a" }, { ANTHROPIC_BASE_URL: baseUrl }), "anthropic:a")
    })
  )

  it.effect("refuses what can't be sent without showing it", () =>
    Effect.gen(function* () {
      const broken = yield* load({ route: "anthropic:a" }, { ANTHROPIC_API_KEY: `${key} ${key}` })
      assert.include(broken, "ANTHROPIC_API_KEY is no key")
      assert.notInclude(broken, key)
      for (const baseUrl of [`https://me:${key}@host/v1`, `ftp://${key}`, `${key}`]) {
        const problem = yield* load({ route: "openai:b", baseUrl }, { OPENAI_API_KEY: "k" })
        assert.include(problem, "expected http://… or https://…")
        assert.notInclude(problem, key)
      }
      assert.include(yield* load({ route: "scripted:x.json", baseUrl: "http://localhost" }, {}), "leave out --base-url")
    })
  )
})
