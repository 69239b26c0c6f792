import * as path from "node:path"
import { Agents } from "@afterturn/agent/Agents"
import { ExternalAgents } from "@afterturn/agent/ExternalAgent"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import * as Compose from "@afterturn/cli/Compose"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { verify } from "@afterturn/session-log/SessionVerify"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { jsonTexts, nearly, runs, strings, value } from "../support/hostile.js"
import { collect } from "../support/sessionLog.js"
import { folder } from "../support/temporary.js"

/** Good input of each tool that a client from outside has. */
const inputs: Readonly<Record<string, ReadonlyArray<object>>> = {
  bash: [{ command: "true", description: "Do nothing", timeoutMs: 1000, run_in_background: true }],
  create_goal: [{ objective: "be done", max_goal_rounds: 3 }],
  get_goal: [{}],
  update_goal: [{ goal_id: "goal-1", revision: 1, action: "edit", objective: "be done soon" }],
  job_kill: [{ job_id: "bash-1", reason: "enough" }],
  job_list: [{}],
  job_output: [{ job_id: "bash-1", wait: true, timeout_ms: 1 }],
  schedule_create: [
    { title: "look", prompt: "look", every_seconds: 3600 },
    { title: "look", prompt: "look", cron: { expression: "0 9 * * 1-5", time_zone: "Europe/Berlin" } },
    { title: "look", prompt: "look", at: { date: "2999-01-01", time: "09:00:00", time_zone: "Asia/Shanghai" } }
  ],
  schedule_delete: [{ id: "rem-1" }],
  schedule_list: [{}],
  schedule_update: [{ id: "rem-1", prompt: "look again", daily: { time: "09:00:00", time_zone: "UTC" } }],
  terminal_close: [{ sessionId: "term-1" }],
  terminal_list: [{}],
  terminal_open: [{ type: "shell", name: "main", cwd: "/" }],
  terminal_read: [{ sessionId: "term-1", offset: 0, count: 10 }],
  terminal_send: [{ sessionId: "term-1", text: "ls", submit: true, run_in_background: true }],
  terminal_signal: [{ sessionId: "term-1", signal: "SIGINT" }],
  todo_write: [
    {
      todos: [
        { content: "a", status: "completed" },
        { content: "b", status: "in_progress" }
      ]
    }
  ]
}

const id = SessionId.make("s1")

/** What a call may leave in the log when it was refused before its tool ran. */
const ofAnyCall = /^(turn|step|tool|agent|user|assistant)\//

describe("whatever a client calls", () => {
  it.live("each tool answers, a refusal changes nothing, and the session stays sound", () =>
    Effect.gen(function* () {
      const db = path.join(yield* folder, "sessions.db")
      const use = Effect.gen(function* () {
        yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
        const { call } = yield* ExternalAgents
        const log = yield* SessionLog
        const tools = yield* Effect.flatMap(ToolRegistry, (registry) => registry.tools())
        for (const { tool } of tools) assert.property(inputs, tool.name, "this test knows every tool")
        for (const [name, [input]] of Object.entries(inputs)) {
          const { outcome } = yield* call(id, { name, input, route: "fuzz" })
          assert.notStrictEqual(outcome.error?.code, "invalid_arguments", outcome.text)
        }
        const hostile = tools.flatMap(({ tool: { name } }) =>
          [
            ...fc.sample(fc.oneof({ weight: 6, arbitrary: nearly(inputs[name] ?? []) }, value), runs(2, 40)),
            {
              ...(inputs[name]?.[0] as object),
              extra: JSON.parse(jsonTexts.find((text) => text.startsWith("[[[[")) ?? "")
            }
          ].map((input) => ({ name, input }))
        )
        const strange = strings.map((name) => ({ name, input: {} }))
        for (const { input, name } of [...hostile, ...strange]) {
          const what = `${name} ${JSON.stringify(input)?.slice(0, 500)}`
          const before = yield* log.lastSeq(id)
          const { outcome } = yield* call(id, { name, input, route: "fuzz" })
          assert.notStrictEqual(outcome.error?.code, "internal_error", what)
          assert.isBelow(outcome.text.length, 100_000, what)
          if (outcome.error?.code !== "invalid_arguments" && outcome.error?.code !== "unknown_tool") continue
          const after = yield* collect(log.read(id, { fromSeq: before + 1 }))
          assert.deepStrictEqual(
            after.filter(({ type }) => !ofAnyCall.test(type)),
            [],
            what
          )
        }
        assert.isNull(yield* verify(id))
      })
      yield* use.pipe(
        Effect.scoped,
        Effect.provide(Compose.externalLayer({ db, bash: true, approval: { policy: "deny" } })),
        Effect.provide(NodeContext.layer)
      )
    }).pipe(Effect.scoped)
  )
})
