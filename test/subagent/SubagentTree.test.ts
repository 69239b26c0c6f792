import { SessionLog } from "@afterturn/session-log/SessionLog"
import { below, flatten, sum } from "@afterturn/subagent/SubagentTree"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Sub from "./support/subagents.js"

const { root } = Sub

const script = {
  rules: [
    Sub.task("nest", { calls: ["one", "two"].map(Sub.delegates) }, { text: "Nested." }),
    Sub.task("one", { text: "One." }),
    Sub.task("two", { text: "Two." })
  ],
  otherwise: [{ text: "I see." }]
}

describe("the tree below a session", () => {
  it.scoped("rolls the tokens of all who are in it up, also in what the parent is told", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "nest")
      yield* TestClock.adjust("1 minute")
      const tree = yield* below(root)
      const all = flatten(tree)
      assert.deepStrictEqual(
        all.map(({ depth, label }) => [label, depth]),
        [
          ["nest", 1],
          ["one", 2],
          ["two", 2]
        ]
      )
      const [top] = tree
      const total = sum(all.map(({ tokens }) => tokens))
      assert.deepStrictEqual(top?.totalTokens, total)
      assert.isAbove(total.outputTokens, top?.tokens.outputTokens ?? 0)
      const { detail } = yield* Sub.get(child.jobId)
      assert.include(detail ?? "", `${total.inputTokens + total.outputTokens} tokens in all`)
    }).pipe(Effect.provide(Sub.layer({ script })))
  )

  it.scoped("leaves out a session that was removed, with what was below it", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "nest")
      yield* TestClock.adjust("1 minute")
      yield* Effect.flatMap(SessionLog, (log) => log.remove(child.agentId))
      assert.deepStrictEqual(yield* below(root), [])
      const sent = yield* Sub.call(agent, "send_message", { agent_id: child.agentId, message: "hello" })
      assert.strictEqual(sent.error?.code, "agent_not_found")
    }).pipe(Effect.provide(Sub.layer({ script })))
  )
})
