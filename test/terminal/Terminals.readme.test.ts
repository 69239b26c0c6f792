import { readFileSync } from "node:fs"
import * as Pty from "@afterturn/terminal/TerminalBackend/Pty"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { program } from "./fixtures/readme.js"
import { layer } from "./support/agents.js"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

describe("the README", () => {
  it.live("shows an example that does what it says", () =>
    Effect.gen(function* () {
      const [, example] = /```ts\n(.*?)```/s.exec(read("../../packages/terminal/README.md")) ?? []
      assert.strictEqual(example, read("./fixtures/readme.ts"))
      const answer = (yield* program).map((value) => JSON.stringify(value))
      assert.include(example, `// [${answer.join(", ")}]`)
    }).pipe(Effect.provide(layer(Pty.layer)))
  )
})
