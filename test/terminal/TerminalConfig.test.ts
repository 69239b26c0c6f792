import * as TerminalConfig from "@afterturn/terminal/TerminalConfig"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const host = new Map([
  ["PATH", "/bin"],
  ["LANG", "C.UTF-8"],
  ["TERM", "dumb"],
  ["API_KEY", "hush"]
])

const settings = (options?: Partial<TerminalConfig.TerminalOptions>) =>
  TerminalConfig.TerminalConfig.pipe(
    Effect.provide(TerminalConfig.layer(options)),
    Effect.provide(Layer.setConfigProvider(ConfigProvider.fromMap(host)))
  )

describe("the configuration", () => {
  it.effect("passes on what is listed of the host's environment, and what is named", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* settings()).environment, { PATH: "/bin", LANG: "C.UTF-8" })
      const named = yield* settings({ inheritEnvironment: ["API_KEY"], setEnvironment: { PATH: "/usr/bin" } })
      assert.deepStrictEqual(named.environment, { PATH: "/usr/bin", LANG: "C.UTF-8", API_KEY: "hush" })
    })
  )

  it.effect("is refused when it could not work", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [Partial<TerminalConfig.TerminalOptions>, string]> = [
        [{ scrollback: 0 }, "scrollback"],
        [{ columns: 0 }, "columns"],
        [{ rows: 1.5 }, "rows"],
        [{ silence: Duration.zero }, "silence"],
        [{ types: {} }, "type"],
        [{ setEnvironment: { TERM: "vt100" } }, "TERM"],
        [{ inheritEnvironment: ["A-B"] }, "A-B"],
        [{ setEnvironment: { A: "\0" } }, "NUL"]
      ]
      for (const [options, word] of cases) {
        const error = yield* Effect.flip(settings(options))
        assert.include(String(error), word)
      }
    })
  )
})
