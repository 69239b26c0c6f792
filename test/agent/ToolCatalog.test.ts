import { catalog, parametersOf, tokensOf } from "@afterturn/agent/ToolCatalog"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const bare = Tool.make("ping", { description: "Answers." })
const count = Schema.Int.annotations({ description: "How many" })
const parameters = {
  kind: Schema.NonEmptyString.annotations({ description: "Of what kind", title: "kind" }),
  count: Schema.optionalWith(count, { exact: true })
}
const rich = Tool.make("plant", { description: "Plants a tree.", parameters })
  .annotate(Tool.Title, "Plant")
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Idempotent, false)

const kit = Toolkit.make(bare, rich)
const layer = ToolRegistry.layerToolkit(kit, {
  package: "@example/garden",
  requires: ["Garden"],
  writes: ["garden/planted"],
  note: "Needs rain."
}).pipe(
  Layer.provide(kit.toLayer({ ping: () => Effect.void, plant: () => Effect.void })),
  Layer.provideMerge(ToolRegistry.layer)
)

describe("catalog", () => {
  it.effect("says of each tool what its author said, and nothing else", () =>
    Effect.gen(function* () {
      const shared = {
        package: "@example/garden",
        requires: ["Garden"],
        writes: ["garden/planted"],
        note: "Needs rain."
      }
      assert.deepStrictEqual(yield* catalog, [
        {
          ...shared,
          name: "ping",
          description: "Answers.",
          parameters: { type: "object", properties: {}, additionalProperties: false },
          hints: {}
        },
        {
          ...shared,
          name: "plant",
          title: "Plant",
          description: "Plants a tree.",
          parameters: {
            type: "object",
            required: ["kind"],
            properties: {
              kind: { type: "string", description: "Of what kind", minLength: 1 },
              count: { type: "integer", description: "How many" }
            },
            additionalProperties: false
          },
          hints: { destructive: false, idempotent: false }
        }
      ])
    }).pipe(Effect.provide(layer))
  )
})

describe("tokensOf", () => {
  it("counts a token for four bytes of what a provider is sent", () => {
    const parameters = parametersOf(bare)
    const tokens = (description: string) => tokensOf({ name: "ping", description, parameters })
    assert.strictEqual(tokens("ä".repeat(200)) - tokens("ä".repeat(100)), 50)
  })
})
