import { assert, describe, it } from "vitest"
import { render, sample } from "./Repository.js"
import { checkWiring } from "./Wiring.js"

const json = (value: unknown) => JSON.stringify(value)

const house = {
  "package.json": json({ devDependencies: { "@afterturn/agent": "workspace:*", "@afterturn/todo": "workspace:*" } }),
  "packages/tsconfig.json": json({ references: [{ path: "agent" }, { path: "todo" }] }),
  "packages/agent/package.json": json({ dependencies: { effect: "1" } }),
  "packages/agent/tsconfig.json": json({ references: [] }),
  "packages/todo/package.json": json({ dependencies: { "@afterturn/agent": "workspace:*" } }),
  "packages/todo/tsconfig.json": json({ references: [{ path: "../agent" }] })
}

const check = (changes: Record<string, string>) => render(checkWiring(sample({ ...house, ...changes })))

describe("checkWiring", () => {
  it("accepts packages that are named wherever they must be", () => {
    assert.strictEqual(check({}), "")
  })

  it("names a package that the build leaves out", () => {
    assert.strictEqual(
      check({ "packages/tsconfig.json": json({ references: [{ path: "agent" }] }) }),
      'packages/tsconfig.json:1 references: add { "path": "todo" }'
    )
  })

  it("names references that a manifest asks for or does not", () => {
    const report = check({
      "packages/agent/tsconfig.json": json({ references: [{ path: "../todo" }] }),
      "packages/todo/tsconfig.json": json({})
    })
    assert.match(report, /^packages\/agent\/tsconfig\.json:1 references: remove \{ "path": "\.\.\/todo" \}/)
    assert.match(report, /\npackages\/todo\/tsconfig\.json:1 references: add \{ "path": "\.\.\/agent" \}/)
  })

  it("names a peer that is pinned to one version", () => {
    const peers = (version: string) => json({ peerDependencies: { effect: version } })
    assert.strictEqual(check({ "packages/agent/package.json": peers("catalog:peers") }), "")
    assert.strictEqual(
      check({ "packages/agent/package.json": peers("catalog:") }),
      'packages/agent/package.json:1 peerDependencies: expected "effect": "catalog:peers"'
    )
  })

  it("names a package that tests cannot import", () => {
    assert.strictEqual(
      check({ "package.json": json({ devDependencies: { "@afterturn/agent": "workspace:*" } }) }),
      'package.json:1 devDependencies: add "@afterturn/todo": "workspace:*"'
    )
  })
})
