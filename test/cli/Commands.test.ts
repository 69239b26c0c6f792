import type { CliCommand } from "@afterturn/cli/Commands"
import { root } from "@afterturn/cli/Commands"
import { version } from "@afterturn/cli/Version"
import { assert, describe, it } from "@effect/vitest"
import manifest from "../../packages/cli/package.json" with { type: "json" }

const leaves = (command: CliCommand): ReadonlyArray<CliCommand> =>
  command.children.length === 0 ? [command] : command.children.flatMap(leaves)

describe("Commands", () => {
  it("gives every command --json, and --db where there is something to store or read", () => {
    const withoutDatabase = ["afterturn schedule preview", "afterturn tools catalog", "afterturn simulate"]
    for (const { call, options } of leaves(root)) {
      const names = options.flatMap((option) => option.names)
      assert.include(names, "--json", call)
      assert.strictEqual(names.includes("--db"), !withoutDatabase.includes(call), call)
    }
  })

  it("means the same by an option wherever it stands", () => {
    const seen = new Map<string, boolean>()
    for (const { call, options } of leaves(root)) {
      for (const { names, takesValue } of options) {
        for (const name of names) assert.strictEqual(seen.get(name) ?? takesValue, takesValue, `${call} ${name}`)
        for (const name of names) seen.set(name, takesValue)
      }
    }
  })

  it("has the version of the package", () => assert.strictEqual(version, manifest.version))
})
