import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { main } from "./support/readme.js"

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

describe("the README", () => {
  it("shows an example that does what it says", () => {
    const [, example = ""] = /```ts\n(.*?)```/s.exec(read("../../packages/schedule/README.md")) ?? []
    assert.strictEqual(example, read("./support/readme.ts"))
    const said = [...example.matchAll(/^\/\/ (.*)$/gm)].map(([, line]) => line)
    assert.strictEqual(Either.getOrThrow(main), said.join("\n"))
  })
})
