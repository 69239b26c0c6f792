import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { main } from "./fixtures/readme.js"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

describe("the README", () => {
  it.live("shows an example that does what it says", () =>
    Effect.gen(function* () {
      const [, example] = /```ts\n(.*?)```/s.exec(read("../../packages/shell/README.md")) ?? []
      assert.strictEqual(example, read("./fixtures/readme.ts"))
      const answer = Object.entries(yield* main).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
      assert.include(example, `// { ${answer.join(", ")} }`)
    })
  )
})
