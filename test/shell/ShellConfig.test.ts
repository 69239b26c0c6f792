import * as ShellConfig from "@afterturn/shell/ShellConfig"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const onHost = (variables: Record<string, string>, options?: Partial<ShellConfig.ShellOptions>) =>
  Effect.provide(
    ShellConfig.ShellConfig,
    Layer.provide(
      ShellConfig.layer(options),
      Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables))))
    )
  )

describe("the configuration", () => {
  it.effect("has defaults", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* onHost({}), {
        shell: "bash",
        terminationGrace: Duration.millis(1500),
        drainGrace: Duration.millis(250),
        outputLimitBytes: 30_000,
        environment: { PATH: "/usr/local/bin:/usr/bin:/bin" }
      })
    })
  )

  it.effect("passes on what is harmless on every host, and what the deployment names, and nothing else", () =>
    Effect.gen(function* () {
      const host = {
        PATH: "/bin",
        HOME: "/home/u",
        LC_ALL: "de_DE.UTF-8",
        LC_TIME: "C",
        TZ: "",
        ANTHROPIC_API_KEY: "secret",
        AWS_SECRET_ACCESS_KEY: "secret",
        SSH_AUTH_SOCK: "/tmp/agent",
        JAVA_HOME: "/opt/java"
      }
      const plain = { PATH: "/bin", HOME: "/home/u", LC_ALL: "de_DE.UTF-8", LC_TIME: "C", TZ: "" }
      assert.deepStrictEqual((yield* onHost(host)).environment, plain)
      const { environment } = yield* onHost(host, {
        inheritEnvironment: ["JAVA_HOME", "NOT_THERE"],
        setEnvironment: { CI: "1", TZ: "UTC" }
      })
      assert.deepStrictEqual(environment, { ...plain, TZ: "UTC", JAVA_HOME: "/opt/java", CI: "1" })
    })
  )

  it.effect("refuses what could not work", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [Partial<ShellConfig.ShellOptions>, string]> = [
        [{ outputLimitBytes: 0 }, "outputLimitBytes must be a positive integer, got 0"],
        [{ outputLimitBytes: Number.NaN }, "outputLimitBytes"],
        [{ inheritEnvironment: ["BASH_ENV"] }, "BASH_ENV changes how the shell works"],
        [{ setEnvironment: { IFS: "," } }, "IFS changes how the shell works"],
        [{ inheritEnvironment: ["A-B"] }, '"A-B"'],
        [{ setEnvironment: { "": "x" } }, '""'],
        [{ setEnvironment: { A: "x\0y" } }, "the variable A holds a NUL"]
      ]
      for (const [options, reason] of wrong) {
        const error = yield* Effect.flip(onHost({}, options))
        assert.include(error instanceof ShellConfig.InvalidShellConfig ? error.message : "another error", reason)
      }
    })
  )
})

describe("the options of the tool", () => {
  it.effect("have defaults, and refuse times that cannot work", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* ShellConfig.toolsOptions({ noticesDelivered: false }), {
        timeoutMs: 120_000,
        maxTimeoutMs: 600_000,
        enableRunInBackground: true,
        noticesDelivered: false
      })
      for (const options of [{ timeoutMs: 0 }, { timeoutMs: 1.5 }, { maxTimeoutMs: 2 ** 31 }, { timeoutMs: 600_001 }]) {
        const error = yield* Effect.flip(ShellConfig.toolsOptions(options))
        assert.include(error.message, Object.keys(options)[0]!)
      }
    })
  )
})
