import * as ProgramEnvironment from "@afterturn/agent/ProgramEnvironment"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"

const none = { inheritEnvironment: [], setEnvironment: {} }

const on = (host: Record<string, string>, options?: Partial<ProgramEnvironment.ProgramEnvironmentOptions>) =>
  Effect.withConfigProvider(
    ProgramEnvironment.read({ ...none, ...options }),
    ConfigProvider.fromMap(new Map(Object.entries(host)))
  )

describe("the environment of programs", () => {
  it.effect("has what is listed and what is named, and no secret of the host", () =>
    Effect.gen(function* () {
      const host = { HOME: "/home/u", API_KEY: "hush", JAVA_HOME: "/opt/java", LANG: "C" }
      assert.deepStrictEqual(yield* on(host), { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/home/u", LANG: "C" })
      assert.deepStrictEqual(
        yield* on(host, { inheritEnvironment: ["JAVA_HOME", "MISSING"], setEnvironment: { PATH: "/bin", LANG: "de" } }),
        { PATH: "/bin", HOME: "/home/u", LANG: "de", JAVA_HOME: "/opt/java" }
      )
    })
  )

  it("cannot have what changes how a shell works, nor what is no variable", () => {
    const problem = (options: Partial<ProgramEnvironment.ProgramEnvironmentOptions>) =>
      ProgramEnvironment.problemOf({ ...none, ...options }, ["TERM"])
    assert.isUndefined(problem({ inheritEnvironment: ["A_1"], setEnvironment: { B: "" } }))
    for (const name of ["BASH_ENV", "SHELLOPTS", "TERM"]) {
      assert.include(problem({ inheritEnvironment: [name] }), `${name} changes how the shell works`)
    }
    assert.include(problem({ setEnvironment: { "A-B": "" } }), '"A-B"')
    assert.include(problem({ setEnvironment: { A: "x\0" } }), "the variable A holds a NUL")
  })
})
