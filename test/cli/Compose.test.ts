import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import * as Compose from "@afterturn/cli/Compose"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { Todo } from "@afterturn/todo/Todo"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workplace } from "../support/afterturn.js"

const id = SessionId.make("s1")

describe("agentLayer", () => {
  it.live("makes agents with every capability of the command", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const agents = Effect.gen(function* () {
        const tools = yield* Effect.flatMap(ToolRegistry, (registry) => registry.tools())
        assert.deepStrictEqual(tools.map(({ tool }) => tool.name).toSorted(), [
          "bash",
          "create_goal",
          "get_goal",
          "interrupt_agent",
          "job_kill",
          "job_list",
          "job_output",
          "list_agents",
          "schedule_create",
          "schedule_delete",
          "schedule_list",
          "schedule_update",
          "send_message",
          "subagent",
          "terminal_close",
          "terminal_list",
          "terminal_open",
          "terminal_read",
          "terminal_send",
          "terminal_signal",
          "todo_write",
          "update_goal"
        ])
        const agent = yield* Effect.flatMap(Agents, (service) => service.create({ id }))
        yield* agent.followup(AgentMessage.user("plan it"))
        yield* agent.whenIdle
        const todos = yield* Effect.flatMap(Todo, (service) => service.get(id))
        assert.strictEqual(todos?.length, 2)
        const prompt = yield* Effect.flatMap(SystemPrompt, (service) => service.render(agent))
        assert.match(prompt, /^You are Afterturn/)
        assert.include(prompt, "Write the entry")
        assert.include(prompt, "Background jobs:")
      })
      const layer = Compose.agentLayer({ db: place.db, route: place.scripted[3] ?? "" })
      yield* agents.pipe(Effect.scoped, Effect.provide(layer), Effect.provide(NodeContext.layer))
    }).pipe(Effect.scoped)
  )

  it.live("fails before it opens the database when the route leads to no model", () =>
    Effect.gen(function* () {
      const { folder } = yield* workplace
      // A folder is no database: opening it would be another failure.
      for (const [route, tag] of [
        ["nobody:x", "InvalidModelRoute"],
        ["anthropic:x", "InvalidModelRoute"],
        [`scripted:${folder}/none.json`, "ScriptUnreadable"]
      ] as const) {
        const layer = Compose.agentLayer({ db: folder, route })
        const error = yield* Effect.void.pipe(Effect.provide(layer), Effect.provide(NodeContext.layer), Effect.flip)
        assert.strictEqual(error._tag, tag)
      }
    }).pipe(Effect.scoped)
  )
})
