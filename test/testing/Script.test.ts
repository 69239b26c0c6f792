import * as Script from "@afterturn/testing/Script"
import * as ScriptStep from "@afterturn/testing/ScriptStep"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

const problems = (definition: unknown) =>
  Either.match(Script.make(definition), {
    onLeft: (error) => error.problems.map(({ path, problem }) => `${path}: ${problem}`),
    onRight: () => []
  })

const nested = (depth: number): unknown => Array.from({ length: depth }).reduce<unknown>((inner) => ({ inner }), "x")

describe("Script", () => {
  it("reads a script file", () => {
    const text = JSON.stringify({
      rules: [
        {
          on: "user",
          match: "^build",
          repeat: true,
          steps: [{ text: "On it.", calls: [{ tool: "bash", input: { command: "make" } }] }, { text: "Done." }]
        }
      ],
      otherwise: [{ text: "Nothing left to do." }]
    })
    const script = Either.getOrThrow(Script.parse(text, "demo.json"))
    assert.deepStrictEqual(
      script.rules.map(({ match, on, repeat, replies }) => [on, match?.source, repeat, replies.length]),
      [
        ["user", "^build", true, 2],
        ["any", undefined, true, 1]
      ]
    )
  })

  it("needs neither rules nor otherwise", () => {
    assert.deepStrictEqual(problems({}), [])
    assert.deepStrictEqual(problems({ rules: [], otherwise: [] }), [])
  })

  it("puts failures before the answer that they delay", () => {
    const script = Either.getOrThrow(
      Script.make({
        rules: [{ steps: [{ text: "one" }, { fail: { status: 529 } }, { fail: {} }, { text: "two" }, { fail: {} }] }]
      })
    )
    assert.deepStrictEqual(
      script.rules[0]?.replies.map(({ answer, failures, steady }) => ({
        failures: failures.map(({ path }) => path),
        answer: answer?.path,
        steady
      })),
      [
        { failures: [], answer: "rules[0].steps[0]", steady: true },
        { failures: ["rules[0].steps[1]", "rules[0].steps[2]"], answer: "rules[0].steps[3]", steady: false },
        { failures: ["rules[0].steps[4]"], answer: undefined, steady: false }
      ]
    )
  })

  it("names every mistake with its path", () => {
    assert.deepStrictEqual(
      problems({
        rule: [],
        rules: [
          { on: "nobody", steps: [{ text: "x" }] },
          { match: "(", steps: [{ text: 1 }] },
          { steps: [] },
          { steps: [{ calls: [{ input: {} }] }, {}, { text: "x", fail: {} }, { fail: { status: 200 } }] }
        ],
        otherwise: [{ txt: "x" }]
      }).map((problem) => problem.split("\n")[0]),
      [
        'rule: is unexpected, expected: "rules" | "otherwise"',
        "rules[0].on: expected one of user, job-notice, reminder, goal-round, agent, system, any",
        "rules[1].match: expected a regular expression: Invalid regular expression: /(/: Unterminated group",
        "rules[1].steps[0].text: Expected string, actual 1",
        "rules[2].steps: expected at least one step",
        "rules[3].steps[0].calls[0].tool: is missing",
        "rules[3].steps[1]: expected text, calls or fail",
        "rules[3].steps[2]: expected either fail, or text and calls",
        "rules[3].steps[3].fail.status: expected an HTTP status from 400 through 599",
        'otherwise[0].txt: is unexpected, expected: "text" | "calls" | "fail"'
      ]
    )
  })

  it("says what is wrong in one line, with the file", () => {
    const error = Either.getOrThrow(Either.flip(Script.parse('{ "rules": [{ "steps": [] }] }', "demo.json")))
    assert.strictEqual(error.message, "the script demo.json is invalid: rules[0].steps: expected at least one step")
    const many = Either.getOrThrow(Either.flip(Script.make({ rules: Array.from({ length: 8 }, () => 1) })))
    assert.match(many.message, /^the script is invalid: rules\[0\]: .* \(and 3 more\)$/)
  })

  it("says where JSON breaks off", () => {
    const error = Either.getOrThrow(Either.flip(Script.parse('{\n  "rules": [,]\n}', "demo.json")))
    assert.match(error.message, /^the script demo\.json is invalid: expected JSON: Unexpected token .*$/)
  })

  it("accepts a byte order mark", () => {
    assert.isTrue(Either.isRight(Script.parse("\uFEFF{}")))
  })

  it("bounds patterns, inputs and numbers of steps", () => {
    assert.deepStrictEqual(problems({ rules: [{ match: "a".repeat(1_001), steps: [{ text: "" }] }] }), [
      "rules[0].match: expected at most 1000 characters"
    ])
    assert.deepStrictEqual(problems({ otherwise: [{ calls: [{ tool: "t", input: nested(64) }] }] }), [])
    assert.deepStrictEqual(problems({ otherwise: [{ calls: [{ tool: "t", input: nested(100_000) }] }] }), [
      "otherwise[0].calls[0].input: expected an input nested at most 64 deep"
    ])
    assert.deepStrictEqual(problems({ otherwise: Array.from({ length: 1_001 }, () => ({ text: "" })) }), [
      "otherwise: expected at most 1000 steps"
    ])
    assert.match(
      Either.getOrThrow(Either.flip(Script.parse(" ".repeat(Script.limits.file + 1)))).message,
      /expected at most 4194304 characters, got 4194305/
    )
  })

  it("takes regular expressions and behaviours from code, and not from a file", () => {
    assert.deepStrictEqual(problems({ rules: [{ match: /build/i, steps: [ScriptStep.stall(), { text: "x" }] }] }), [])
    assert.deepStrictEqual(problems({ rules: [{ match: /build/g, steps: [{ text: "x" }] }] }), [
      "rules[0].match: expected a regular expression without the flags g and y"
    ])
    const copied: unknown = JSON.parse(JSON.stringify({ otherwise: [ScriptStep.stall()] }))
    assert.deepStrictEqual(problems(copied).length, 1)
  })
})
