import * as Script from "@afterturn/testing/Script"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import { jsonTexts, nearly, nearlyText, runs } from "../support/hostile.js"

const scripts = [
  {
    rules: [
      {
        on: "user",
        match: "plan (it|this)",
        repeat: true,
        steps: [
          {
            text: "Planning.",
            calls: [{ tool: "todo_write", input: { todos: [{ content: "a", status: "pending" }] } }]
          },
          { fail: { status: 503, retryAfter: 3600, message: "later" } },
          { text: "Planned." }
        ]
      }
    ],
    otherwise: [{ text: "Done." }]
  },
  { otherwise: [{ calls: [{ tool: "bash", input: { command: "true" } }] }] }
]

const answers = (result: Either.Either<Script.Script, Script.InvalidScript>) => {
  if (Either.isRight(result)) return assert.isAbove(result.right.rules.length, 0)
  assert.strictEqual(result.left._tag, "InvalidScript")
  assert.isAbove(result.left.problems.length, 0)
  assert.isBelow(result.left.message.length, 20_000)
}

describe("whatever a script file holds", () => {
  it("is a script, or is refused with a place and a reason", () => {
    const valid = scripts.map((script) => JSON.stringify(script))
    fc.assert(
      fc.property(
        fc.oneof(
          nearlyText(valid),
          nearly(scripts).map((value) => JSON.stringify(value) ?? "")
        ),
        (text) => answers(Script.parse(text))
      ),
      runs(60, 5_000)
    )
  })

  it("is refused when it is deep, endless or no JSON", () => {
    for (const text of [...jsonTexts, `{"otherwise":${jsonTexts.find((text) => text.startsWith("[[[")) ?? ""}}`]) {
      answers(Script.parse(text))
      answers(Script.parse(`{"otherwise":[{"calls":[{"tool":"bash","input":${text}}]}]}`))
    }
    answers(Script.parse(`{"otherwise":[{"text":"${"x".repeat(Script.limits.file)}"}]}`))
  })
})
