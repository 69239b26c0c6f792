import { layerExtensions } from "@afterturn/agent/Agents"
import { terminals } from "@afterturn/cli/Compose/Terminals"
import { layerMemory } from "@afterturn/session-log/SessionLog"
import { TerminalConfig } from "@afterturn/terminal/TerminalConfig"
import { Terminals } from "@afterturn/terminal/Terminals"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

describe("terminals", () => {
  it.effect("are shells of this machine, that see no secrets of the environment", () =>
    Effect.gen(function* () {
      process.env.AFTERTURN_TEST_TOKEN = "hush"
      assert.deepStrictEqual((yield* Terminals).types, ["shell"])
      assert.notProperty((yield* TerminalConfig).environment, "AFTERTURN_TEST_TOKEN")
    }).pipe(Effect.provide(terminals.pipe(Layer.provide(Layer.merge(layerMemory, layerExtensions)))))
  )
})
