import type { PricedEntry } from "@afterturn/cli/ToolDocument"
import { budget, overBudget, render, summary } from "@afterturn/cli/ToolDocument"
import { assert, describe, it } from "@effect/vitest"

const plain: PricedEntry = {
  package: "@example/garden",
  name: "ping",
  description: "Answers.",
  parameters: { type: "object", properties: {}, additionalProperties: false },
  requires: ["Garden"],
  writes: [],
  hints: {},
  tokens: 20
}

const rich: PricedEntry = {
  ...plain,
  name: "plant",
  title: "Plant",
  hints: { destructive: false, openWorld: false },
  writes: ["garden/planted"],
  note: "Needs rain.",
  parameters: {
    type: "object",
    required: ["at"],
    properties: {
      at: {
        description: "When | where",
        oneOf: [
          { type: "string" },
          { type: "object", properties: { day: { type: "string", description: "The\nday" } } }
        ]
      },
      kinds: {
        type: "array",
        description: "Which",
        items: { type: "object", properties: { name: { enum: ["oak", "elm"], description: "Its name" } } }
      },
      note: { type: ["string", "null"], description: "Anything", examples: ["wet"] }
    }
  },
  tokens: 100
}

describe("render", () => {
  it("shows each tool with its parameters at every depth, its needs and what it writes", () => {
    const text = render([plain, rich])
    assert.include(text, "| [`plant`](#plant) | `@example/garden` | 100 |\n| all |  | 120 |")
    assert.include(text, "## ping\n\nAnswers.\n\nNo parameters.\n\n- Package: `@example/garden`\n- Needs: Garden")
    assert.include(text, "## plant\n\n*Plant.* Destroys nothing. Stays inside the session.\n\nAnswers.")
    for (const row of [
      "| `at` | string or object | required | When \\| where |",
      "| `at.day` | string | optional | The day |",
      "| `kinds` | array of object | optional | Which |",
      '| `kinds[].name` | `"oak"`, `"elm"` | optional | Its name |',
      '| `note` | string or null | optional | Anything. For example `"wet"` |',
      "- Writes: `tool/call`, `tool/result`, `garden/planted`\n- Deployment: Needs rain.\n"
    ]) {
      assert.include(text, row)
    }
  })
})

describe("summary", () => {
  it("has a line for each tool and the total last", () => {
    assert.strictEqual(
      summary([plain, rich]),
      [
        "ping   @example/garden     20 tokens",
        "plant  @example/garden    100 tokens",
        "2 tools, about 120 tokens in every request"
      ].join("\n")
    )
  })
})

describe("overBudget", () => {
  it("names a tool that is too large, and all of them together", () => {
    assert.deepStrictEqual(overBudget([plain, rich]), [])
    assert.deepStrictEqual(overBudget([plain, { ...rich, tokens: budget.tool + 1 }]), [`plant (${budget.tool + 1})`])
    const many = Array.from({ length: 10 }, () => ({ ...rich, tokens: budget.tool }))
    assert.deepStrictEqual(overBudget(many), [`all tools (${budget.tool * 10})`])
  })
})
