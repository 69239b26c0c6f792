import { assert, describe, it } from "vitest"
import { checkArrows } from "./Arrows.js"
import { render, sample } from "./Repository.js"

const check = (files: Record<string, string>) => render(checkArrows(sample(files)))

const source = (path: string, ...lines: ReadonlyArray<string>) => ({ [`packages/${path}`]: lines.join("\n") })

describe("checkArrows", () => {
  it("accepts arrows that point down and whatever is no package of ours", () => {
    assert.strictEqual(
      check({
        "packages/todo/package.json": JSON.stringify({
          dependencies: { "@afterturn/agent": "workspace:*", effect: "1" }
        }),
        "packages/cli/package.json": JSON.stringify({ dependencies: { "@afterturn/todo": "workspace:*" } }),
        ...source(
          "todo/src/Todo.ts",
          'import * as Effect from "effect/Effect"',
          'import * as A from "@afterturn/agent/Agent"'
        ),
        ...source("todo/src/deep/Rule.ts", 'import { x } from "../Todo.js"'),
        ...source("cli/src/main.ts", 'import * as T from "@afterturn/todo/Todo"')
      }),
      ""
    )
  })

  it("names a dependency between capabilities, with its line in the manifest", () => {
    const manifest = JSON.stringify({ name: "@afterturn/goals", peerDependencies: { "@afterturn/jobs": "*" } }, null, 2)
    assert.match(
      check({ "packages/goals/package.json": manifest }),
      /^packages\/goals\/package\.json:4 packages\/goals may not use @afterturn\/jobs \(it may use agent, session-log\)/
    )
  })

  it("names every form of import between capabilities", () => {
    const forms = [
      'import * as Jobs from "@afterturn/jobs/Jobs"',
      'import type { Job } from "@afterturn/jobs/Job"',
      'export * from "@afterturn/jobs/Job"',
      'const later = () => import("@afterturn/jobs/Jobs")',
      'type T = import("@afterturn/jobs/Job").Job',
      'const now = require("@afterturn/jobs")'
    ]
    const report = check(source("goals/src/Goals.ts", ...forms)).split("\n")
    assert.deepStrictEqual(
      report.map((line) => line.slice(0, line.indexOf(" "))),
      forms.map((_, index) => `packages/goals/src/Goals.ts:${index + 1}`)
    )
  })

  it("is not fooled by strings and comments", () => {
    const text = ['// import "@afterturn/jobs/Jobs"', "const text = 'import \"@afterturn/jobs/Jobs\"'"]
    assert.strictEqual(check(source("goals/src/Goals.ts", ...text)), "")
  })

  it("lets nothing import cli", () => {
    assert.match(
      check(source("testing/src/Kit.ts", 'import * as Main from "@afterturn/cli/Main"')),
      /^packages\/testing\/src\/Kit\.ts:1 packages\/testing may not use @afterturn\/cli/
    )
  })

  it("names relative paths out of a package, internals of others and a package's own name", () => {
    const report = check(
      source(
        "agent/src/Agent.ts",
        'import * as A from "../../session-log/src/SessionLog.js"',
        'import * as B from "@afterturn/session-log/internal/ring"',
        'import * as C from "@afterturn/agent/Inbox"',
        'import * as D from "../../../test/support/Fake.js"'
      )
    )
    assert.match(report, /Agent\.ts:1 reaches out of its package to packages\/session-log\/src\/SessionLog\.js/)
    assert.match(report, /Agent\.ts:2 @afterturn\/session-log\/internal\/ring is internal/)
    assert.match(report, /Agent\.ts:3 imports its own package by name/)
    assert.match(report, /Agent\.ts:4 reaches out of its package to test\/support\/Fake\.js/)
  })

  it("asks where a new package stands", () => {
    assert.match(
      check({ "packages/weather/package.json": "{}" }),
      /^packages\/weather\/package\.json:1 packages\/weather has no place in the house/
    )
  })
})
