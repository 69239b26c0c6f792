import { readFileSync } from "node:fs"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { main } from "./support/readme.js"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

const readme = read("../../packages/todo/README.md")

describe("the README", () => {
  it.effect("shows an example that does what it says", () =>
    Effect.gen(function* () {
      const [, example] = /```ts\n(.*?)```/s.exec(readme) ?? []
      assert.strictEqual(example, read("./support/readme.ts"))
      const said = [...(example ?? "").matchAll(/^\/\/ (\[.*)$/gm)].map(([, line]) => line)
      assert.strictEqual(yield* main, said.join("\n"))
    })
  )

  it.effect("names the defaults that there are", () =>
    Effect.gen(function* () {
      const { allowParallelInProgress: _, ...defaults } = yield* Effect.provide(
        TodoConfig.TodoConfig,
        TodoConfig.layer({ allowParallelInProgress: true })
      )
      for (const [option, value] of Object.entries(defaults)) {
        assert.include(
          readme,
          `| \`${option}\` | \`${typeof value === "number" ? value.toLocaleString("en") : value}\` |`
        )
      }
    })
  )
})
