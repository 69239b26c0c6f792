import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import type { CatalogEntry } from "@afterturn/agent/ToolCatalog"
import type { StrictProvider } from "@afterturn/agent/ToolSchema"
import { faults } from "@afterturn/agent/ToolSchema"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import ts from "typescript"
import { packagesOf, readRepository, sourcesOf } from "../../layout/Repository.js"
import { nodesOf, parse } from "../../layout/Syntax.js"
import { inProcess } from "../../support/afterturn.js"
import * as Temporary from "../../support/temporary.js"

const root = fileURLToPath(new URL("../../..", import.meta.url))

type Listed = CatalogEntry & { readonly tokens: number }

const list = (...args: ReadonlyArray<string>) =>
  Effect.map(inProcess(["tools", "catalog", "--json", ...args]), ({ stdout }) => JSON.parse(stdout) as Array<Listed>)

/** The names of the tools that the packages make; those of the test kit are for runtimes under test. */
const toolsMade = (): ReadonlyArray<string> => {
  const files = readRepository(root)
  assert.isAbove(packagesOf(files).length, 5)
  const sources = sourcesOf(files).filter((source) => source.package !== "testing")
  return sources.flatMap(({ path }) =>
    [...nodesOf(parse(path, files.get(path) ?? ""))].flatMap((node) =>
      ts.isCallExpression(node) && node.expression.getText() === "Tool.make" && ts.isStringLiteral(node.arguments[0]!)
        ? [node.arguments[0].text]
        : []
    )
  )
}

describe("tools catalog", () => {
  it.live("has every tool that a package makes, once", () =>
    Effect.gen(function* () {
      const names = (yield* list()).map(({ name }) => name)
      assert.deepStrictEqual(names.toSorted(), [...new Set(toolsMade())].toSorted())
      assert.strictEqual(new Set(names).size, names.length)
    })
  )

  it.live("has schemas that no provider refuses, as they are and in strict form", () =>
    Effect.gen(function* () {
      const providers: ReadonlyArray<StrictProvider> = ["openai-strict", "anthropic"]
      for (const args of [[], ...providers.map((provider) => ["--provider", provider])]) {
        for (const { name, parameters } of yield* list(...args)) assert.deepStrictEqual(faults(parameters), [], name)
      }
      const strict = yield* list("--provider", "openai-strict")
      const output = strict.find(({ name }) => name === "job_output")
      assert.deepStrictEqual(output?.parameters.required, ["job_id", "wait", "timeout_ms"])
    })
  )

  it.live("says what each tool needs, writes and costs", () =>
    Effect.gen(function* () {
      const todo = (yield* list()).find(({ name }) => name === "todo_write")
      assert.strictEqual(todo?.package, "@afterturn/todo")
      assert.deepStrictEqual(todo?.writes, ["todo/write"])
      assert.isAbove(todo?.tokens ?? 0, 100)
      const { stdout } = yield* inProcess(["tools", "catalog"])
      assert.match(stdout, /^todo_write +@afterturn\/todo +\d+ tokens$/m)
      assert.match(stdout, /\n\d+ tools, about \d+ tokens in every request\n$/)
    })
  )

  it.live("compares the document with a file", () =>
    Effect.gen(function* () {
      const folder = yield* Temporary.folder
      const file = path.join(folder, "catalog.md")
      const check = inProcess(["tools", "catalog", "--check", file])
      assert.match((yield* check).stderr, /^afterturn: .+catalog\.md cannot be read; expected a catalog/)
      const { stdout } = yield* inProcess(["tools", "catalog", "--markdown"])
      fs.writeFileSync(file, stdout)
      assert.match((yield* check).stdout, /catalog\.md is up to date; \d+ tools/)
      fs.appendFileSync(file, "more\n")
      const { code, stderr } = yield* check
      assert.strictEqual(code, 1)
      assert.match(stderr, /is not what the tools are; write it anew: afterturn tools catalog --markdown > /)
    }).pipe(Effect.scoped)
  )

  it.live("knows no other provider", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* inProcess(["tools", "catalog", "--provider", "nobody"])
      assert.strictEqual(code, 2)
      assert.include(stderr, "expected one of openai-strict, anthropic")
    })
  )
})
