import { messages, script } from "@afterturn/cli/demo/DemoScript"
import * as Script from "@afterturn/testing/Script"
import { assert, describe, it } from "@effect/vitest"

describe("script", () => {
  it.effect("can be read back from the file that the demo leaves behind", () =>
    Script.parse(JSON.stringify(script), "f")
  )

  it("has a rule of its own for each message", () => {
    const fitting = Object.values(messages).map((message) =>
      (script.rules ?? []).flatMap(({ match }, index) => (new RegExp(match ?? "").test(message) ? [index] : []))
    )
    for (const rules of fitting) assert.strictEqual(rules.length, 1)
    assert.strictEqual(new Set(fitting.flat()).size, fitting.length)
  })
})
