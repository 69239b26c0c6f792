import { isRoot } from "@afterturn/agent/Agent"
import { Agents } from "@afterturn/agent/Agents"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const toolkit = (name: string) => {
  const kit = Toolkit.make(Tool.make(name, { description: `the tool ${name}` }))
  return Effect.provide(kit, kit.toLayer({ [name]: () => Effect.void } as never))
}

const add = (name: string, availableTo?: ToolRegistry.ToolkitInfo["availableTo"]) =>
  Effect.gen(function* () {
    const registry = yield* ToolRegistry.ToolRegistry
    yield* registry.add(yield* toolkit(name), {
      package: "test",
      requires: [],
      writes: [],
      ...(availableTo === undefined ? {} : { availableTo })
    })
  })

describe("ToolRegistry", () => {
  it.effect("gives each agent the tools that are meant for it", () =>
    Effect.gen(function* () {
      yield* add("for_all")
      yield* add("for_roots", isRoot)
      const registry = yield* ToolRegistry.ToolRegistry
      const agents = yield* Agents
      const names = (agent?: Parameters<typeof registry.tools>[0]) =>
        Effect.map(registry.tools(agent), (tools) => tools.map(({ tool }) => tool.name))
      const root = yield* agents.create()
      const child = yield* agents.create({ parent: root.id, delegationDepth: 1 })
      assert.deepStrictEqual(yield* names(root), ["for_all", "for_roots"])
      assert.deepStrictEqual(yield* names(child), ["for_all"])
      assert.deepStrictEqual(yield* names(), ["for_all", "for_roots"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("refuses a second tool of the same name when it is composed", () =>
    Effect.gen(function* () {
      yield* add("twice")
      const exit = yield* Effect.exit(add("twice"))
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", 'two tools are named "twice"')
    }).pipe(Effect.provide(ToolRegistry.layer))
  )
})
