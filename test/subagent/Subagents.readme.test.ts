import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { program } from "./fixtures/readme.js"
import * as Sub from "./support/subagents.js"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

const script = { rules: [Sub.task("one sentence", { text: "It adds reminders." })], otherwise: [{ text: "Nothing." }] }

describe("the README", () => {
  it.effect("shows an example that does what it says", () =>
    Effect.gen(function* () {
      const [, example] = /```ts\n(.*?)```/s.exec(read("../../packages/subagent/README.md")) ?? []
      assert.strictEqual(example, read("./fixtures/readme.ts"))
      const answer = (yield* program).map((value) => JSON.stringify(value))
      assert.include(example, `// [${answer.join(", ")}]`)
    }).pipe(Effect.provide(Sub.layer({ script })))
  )
})
