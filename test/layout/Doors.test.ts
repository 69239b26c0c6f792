import { assert, describe, it } from "vitest"
import { checkDoors } from "./Doors.js"
import { render, sample } from "./Repository.js"

const manifest = {
  name: "@afterturn/jobs",
  exports: {
    ".": { "@afterturn/source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" },
    "./*": { "@afterturn/source": "./src/*.ts", types: "./dist/*.d.ts", default: "./dist/*.js" },
    "./internal/*": null
  }
}

const check = (files: Record<string, string>, given: object = manifest) =>
  render(
    checkDoors(
      sample({
        "packages/jobs/package.json": JSON.stringify(given, null, 2),
        "packages/jobs/src/index.ts": 'export * as Jobs from "./Jobs.js"\n',
        "packages/jobs/src/Jobs.ts": "",
        ...files
      })
    )
  )

describe("checkDoors", () => {
  it("accepts the house's doors, and more of them", () => {
    assert.strictEqual(check({}), "")
    assert.strictEqual(
      check({}, { ...manifest, exports: { ...manifest.exports, "./package.json": "./package.json" } }),
      ""
    )
  })

  it("accepts an empty index, lower-case entry points, internals and adapters that it does not name", () => {
    assert.strictEqual(
      check({
        "packages/jobs/src/main.ts": "",
        "packages/jobs/src/internal/Ring.ts": "",
        "packages/jobs/src/JobStore/Sqlite.ts": ""
      }),
      ""
    )
    const empty = sample({
      "packages/jobs/package.json": JSON.stringify(manifest),
      "packages/jobs/src/index.ts": "export {}\n"
    })
    assert.strictEqual(render(checkDoors(empty)), "")
  })

  it("names a door that is missing or differs, in content or in order", () => {
    const { "./internal/*": _, ...open } = manifest.exports
    assert.match(
      check({}, { ...manifest, exports: open }),
      /^packages\/jobs\/package\.json:1 exports: expected "\.\/internal\/\*": null/
    )
    const { types, ...rest } = manifest.exports["."]
    const late = { ...manifest, exports: { ...manifest.exports, ".": { ...rest, types } } }
    assert.match(check({}, late), /^packages\/jobs\/package\.json:4 exports: expected "\.": \{"@afterturn\/source"/)
  })

  it("names a package that is not called after its folder", () => {
    assert.match(check({}, { ...manifest, name: "jobs" }), /package\.json:2 expected the name "@afterturn\/jobs"/)
  })

  it("names whatever else an index holds", () => {
    const index = [
      'export * as Jobs from "./Jobs.js"',
      'export * from "./Jobs.js"',
      'export { one } from "./Jobs.js"',
      'export * as Other from "./Jobs.js"',
      "export const two = 2"
    ]
    const report = check({ "packages/jobs/src/index.ts": index.join("\n") }).split("\n")
    assert.deepStrictEqual(
      report.map((line) => line.slice(0, line.indexOf(" "))),
      [2, 3, 4, 5].map((line) => `packages/jobs/src/index.ts:${line}`)
    )
  })

  it("names a module that the index leaves out, and a package without index", () => {
    assert.match(check({ "packages/jobs/src/Job.ts": "" }), /index\.ts:1 does not name Job: add `export \* as Job from/)
    const none = sample({ "packages/jobs/package.json": JSON.stringify(manifest) })
    assert.match(render(checkDoors(none)), /packages\/jobs\/src\/index\.ts is missing/)
  })
})
