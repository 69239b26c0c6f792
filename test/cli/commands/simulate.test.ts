import * as fs from "node:fs"
import * as path from "node:path"
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assert } from "vitest"
import { inProcess } from "../../support/afterturn.js"
import * as Temporary from "../../support/temporary.js"

/** A file with steps of one host and one session. */
const stepsFile = (text: string) =>
  Effect.map(Temporary.folder, (folder) => {
    const file = path.join(folder, "steps.json")
    fs.writeFileSync(file, text)
    return file
  })

const steps = JSON.stringify([
  { do: "boot", host: "a" },
  { do: "say", host: "a", session: "s1", replies: [{ calls: [{ tool: "todo_write", input: { todos: [] } }] }] },
  { do: "crash", host: "a", writes: 0, when: "before" }
])

describe("afterturn simulate", () => {
  it.scopedLive("plays steps and says what they met", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* inProcess(["simulate", "--seed", "7", "--steps", yield* stepsFile(steps)])
      assert.strictEqual(code, 0)
      assert.include(stdout, "1 seed, met:")
      assert.include(stdout, "  crash: at rest 1")
      assert.include(stdout, "  steps: boot 1, say 1, crash 1")
    })
  )

  it.scopedLive("prints a report as JSON", () =>
    Effect.gen(function* () {
      const file = yield* stepsFile(steps)
      const { code, stdout } = yield* inProcess(["simulate", "--steps", file, "--json"])
      const report = JSON.parse(stdout)
      assert.strictEqual(code, 0)
      assert.deepStrictEqual([report.seeds, report.failures, report.coverage.steps.crash], [1, [], 1])
    })
  )

  it.scopedLive.each([
    ["steps that are none", '[{ "do": "explode" }]', 1, "steps.json"],
    ["more than one seed with steps", "[]", 2, "--steps goes with one seed"]
  ])("refuses %s", ([, text, code, words]) =>
    Effect.gen(function* () {
      const file = yield* stepsFile(String(text))
      const seeds = code === 2 ? ["--seeds", "2"] : []
      const finished = yield* inProcess(["simulate", "--steps", file, ...seeds])
      assert.strictEqual(finished.code, code)
      assert.include(finished.stderr, String(words))
    })
  )

  it.live("refuses a seed that is no number", () =>
    Effect.map(inProcess(["simulate", "--seed", "x"]), ({ code, stderr }) => {
      assert.strictEqual(code, 2)
      assert.include(stderr, "--seed: expected a number from 1")
    })
  )
})
