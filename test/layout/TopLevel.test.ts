import { assert, describe, it } from "vitest"
import { render, sample } from "./Repository.js"
import { checkTopLevel } from "./TopLevel.js"

const house = [
  "packages/todo/package.json",
  "test/todo/Todo.test.ts",
  "examples/todo.ts",
  "bench/todo.ts",
  "docs/todo.md",
  ".ci/run",
  "package.json",
  "pnpm-workspace.yaml",
  "pnpm-lock.yaml",
  "tsconfig.json",
  "vitest.config.ts",
  "README.md",
  "LICENSE",
  "AGENTS.md",
  "CHANGELOG.md"
]

const at = (...paths: ReadonlyArray<string>) =>
  render(checkTopLevel(sample(Object.fromEntries(paths.map((path) => [path, ""])))))

describe("checkTopLevel", () => {
  it("accepts the house, with or without its dot files", () => {
    assert.strictEqual(at(...house), "")
    assert.strictEqual(at(...house, ".gitignore", ".biome.jsonc"), "")
  })

  it("names a file and a folder that do not belong there", () => {
    const report = at(...house, "notes.md", "scripts/build.mjs")
    assert.match(report, /^notes\.md:1 is not part of the top level: move it/)
    assert.match(report, /\nscripts\/:1 is not part of the top level/)
  })

  it("names what is missing", () => {
    assert.strictEqual(
      at(...house.filter((path) => path !== "LICENSE")),
      "LICENSE:1 is missing from the top level: add it"
    )
  })
})
