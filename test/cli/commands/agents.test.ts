import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Workplace } from "../../support/afterturn.js"
import { inProcess, workplace } from "../../support/afterturn.js"

const delegates = (prompt: string) => ({ tool: "subagent", input: { description: `To ${prompt}`, prompt } })

const script = {
  rules: [
    { on: "user", steps: [{ calls: [delegates("split"), delegates("look")] }, { text: "They are at it." }] },
    { on: "agent", match: "split", steps: [{ calls: [delegates("look")] }, { text: "Split." }] },
    { on: "agent", match: "look", steps: [{ text: "Looked." }] }
  ],
  otherwise: [{ text: "I see." }]
}

const agents = (place: Workplace, ...args: ReadonlyArray<string>) => inProcess(["agents", "--db", place.db, ...args])

describe("agents", () => {
  it.live("lists the subagents that a run has had, and the tree of them", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const file = path.join(place.folder, "agents.json")
      fs.writeFileSync(file, JSON.stringify(script))
      const run = yield* inProcess(["run", "--db", place.db, "--session", "s1", "--model", `scripted:${file}`, "go"])
      assert.strictEqual(run.code, 0, run.stderr)

      const json = JSON.parse((yield* agents(place, "--session", "s1", "--tree", "--json")).stdout)
      assert.deepStrictEqual(
        json.map((agent: Record<string, unknown>) => [agent.label, agent.status, agent.runs, agent.depth]),
        [
          ["To split", "inactive", 1, 1],
          ["To look", "inactive", 1, 1]
        ]
      )
      const [split, look] = json
      assert.deepInclude(split.job, { id: "subagent-1", status: "completed" })
      assert.strictEqual(split.children[0].label, "To look")
      assert.strictEqual(split.children[0].parent, split.id)
      assert.strictEqual(
        split.totalTokens.outputTokens,
        split.tokens.outputTokens + split.children[0].tokens.outputTokens
      )

      const flat = (yield* agents(place, "--session", "s1")).stdout.trimEnd().split("\n")
      assert.strictEqual(flat.length, 3)
      assert.match(flat[0] ?? "", /^ID +STATUS +JOB +ENDED +TURNS +TOKENS +LABEL/)
      assert.match(flat[2] ?? "", new RegExp(`^${look.id} +inactive +subagent-2 +completed +1 +\\d+ +To look`))
      const tree = (yield* agents(place, "--session", "s1", "--tree")).stdout.split("\n")
      assert.isTrue(tree[2]?.startsWith(`  ${split.children[0].id}`))

      const shown = yield* inProcess(["sessions", "show", split.id, "--db", place.db])
      assert.include(shown.stdout, "depth 1")
      assert.strictEqual((yield* agents(place, "--session", look.id)).stdout, "no subagents\n")
    }).pipe(Effect.scoped)
  )

  it.live("tells a session without subagents from none", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { code, stderr } = yield* agents(place, "--session", "s9")
      assert.strictEqual(code, 1)
      assert.include(stderr, 'no session "s9"')
    }).pipe(Effect.scoped)
  )
})
