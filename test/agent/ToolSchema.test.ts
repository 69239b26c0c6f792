import { faults, strictVariant, tidy } from "@afterturn/agent/ToolSchema"
import { assert, describe, it } from "@effect/vitest"

const schema = {
  type: "object",
  required: ["title"],
  properties: {
    title: { type: "string", description: "The title", minLength: 1, maxLength: 120, examples: ["Tea"] },
    count: { type: "integer", description: "How many", minimum: 0 },
    kind: { type: "string", enum: ["a", "b"], description: "Which" },
    at: {
      description: "When",
      oneOf: [
        { type: "string" },
        {
          type: "object",
          required: ["date"],
          properties: {
            date: { type: "string", description: "The day" },
            zone: { type: "string", description: "The zone" }
          },
          additionalProperties: false
        }
      ]
    },
    tags: { type: "array", description: "Words", minItems: 1, items: { type: "string", maxLength: 20 } }
  },
  additionalProperties: false
} as const

describe("tidy", () => {
  it("drops what only costs tokens, and no property of such a name", () => {
    assert.deepStrictEqual(
      tidy({
        $id: "/schemas/x",
        type: "object",
        required: [],
        properties: { title: { type: "integer", title: "nonNegative", minimum: 0 } },
        additionalProperties: false
      }),
      { type: "object", properties: { title: { type: "integer", minimum: 0 } }, additionalProperties: false }
    )
  })
})

describe("strictVariant", () => {
  it("requires every key for OpenAI, lets optional ones be null and says what the mode does not take", () => {
    assert.deepStrictEqual(strictVariant(schema, "openai-strict"), {
      type: "object",
      required: ["title", "count", "kind", "at", "tags"],
      properties: {
        title: {
          type: "string",
          description: 'The title; for example "Tea", at least 1 characters, at most 120 characters'
        },
        count: { type: ["integer", "null"], description: "How many", minimum: 0 },
        kind: { description: "Which", anyOf: [{ type: "string", enum: ["a", "b"] }, { type: "null" }] },
        at: {
          description: "When",
          anyOf: [
            { type: "string" },
            {
              type: "object",
              required: ["date", "zone"],
              properties: {
                date: { type: "string", description: "The day" },
                zone: { type: ["string", "null"], description: "The zone" }
              },
              additionalProperties: false
            },
            { type: "null" }
          ]
        },
        tags: {
          description: "Words",
          anyOf: [
            { type: "array", minItems: 1, items: { type: "string", description: "at most 20 characters" } },
            { type: "null" }
          ]
        }
      },
      additionalProperties: false
    })
  })

  it("leaves optional keys optional for Anthropic, without ranges, lengths and oneOf", () => {
    const variant = strictVariant(schema, "anthropic")
    assert.deepStrictEqual(variant.required, ["title"])
    assert.deepStrictEqual(variant.properties?.count, { type: "integer", description: "How many; at least 0" })
    assert.notProperty(variant.properties?.at, "oneOf")
    assert.deepStrictEqual(variant.properties?.tags, {
      type: "array",
      description: "Words; at least 1 items",
      items: { type: "string", description: "at most 20 characters" }
    })
  })

  it("closes objects that were open", () => {
    const open = { type: "object", properties: { a: { type: "object", properties: {} } } } as const
    for (const provider of ["openai-strict", "anthropic"] as const) {
      const variant = strictVariant(open, provider)
      assert.strictEqual(variant.additionalProperties, false)
      assert.include(JSON.stringify(variant.properties?.a), '"additionalProperties":false')
    }
  })
})

describe("faults", () => {
  it("finds none in a schema that providers take", () => {
    assert.deepStrictEqual(faults(schema), [])
  })

  for (const [fault, broken] of [
    ["(root): expected type object", { type: "array", items: { type: "string" } }],
    ["(root): expected no choice", { ...schema, anyOf: [{ type: "string" }] }],
    ["(root): expected no $ref", { ...schema, $ref: "#/$defs/x" }],
    ["a: expected a type", { ...schema, properties: { a: { description: "x" } } }],
    ["a: expected items", { ...schema, properties: { a: { description: "x", type: "array" } } }],
    ["a: expected properties", { ...schema, properties: { a: { description: "x", type: "object" } } }],
    [
      "a: expected a closed object",
      { ...schema, properties: { a: { description: "x", type: "object", properties: {} } } }
    ],
    [
      "a: expected no enum beside null",
      { ...schema, properties: { a: { description: "x", type: ["string", "null"], enum: ["b"] } } }
    ],
    ["a: expected a description", { ...schema, properties: { a: { type: "string" } } }],
    [
      "a.b: expected a description",
      {
        ...schema,
        properties: {
          a: { description: "x", type: "object", additionalProperties: false, properties: { b: { type: "string" } } }
        }
      }
    ],
    ["a(items): expected a type", { ...schema, properties: { a: { description: "x", type: "array", items: {} } } }],
    ["a(2): expected a type", { ...schema, properties: { a: { description: "x", anyOf: [{ type: "string" }, {}] } } }]
  ] as const) {
    it(`names ${fault}`, () => {
      assert.include(faults(broken), fault)
    })
  }
})
