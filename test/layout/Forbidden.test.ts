import { assert, describe, it } from "vitest"
import type { Allowed } from "./Forbidden.js"
import { checkForbidden } from "./Forbidden.js"
import { render, sample } from "./Repository.js"

const check = (text: string, path = "packages/jobs/src/Jobs.ts", allowed: ReadonlyArray<Allowed> = []) =>
  render(checkForbidden(sample({ [path]: text }), allowed))

describe("checkForbidden", () => {
  for (const [text, use] of [
    ["const a = Date.now()", "Date.now"],
    ["const read = Date.now", "Date.now"],
    ["const a = globalThis.Date.now()", "Date.now"],
    ["const a = new Date()", "new Date()"],
    ["const a = new Date", "new Date()"],
    ["const a = Date()", "Date()"],
    ["const a = performance.now()", "performance.now"],
    ["const a = process.hrtime.bigint()", "process.hrtime"],
    ["setTimeout(run, 10)", "setTimeout"],
    ["globalThis.setInterval(run, 10)", "setInterval"],
    ['import { scheduler } from "node:timers/promises"', "node:timers/promises"],
    ["const a = Math.random()", "Math.random"],
    ["const a = crypto.randomUUID()", "randomUUID"],
    ['import { randomUUID } from "node:crypto"', "randomUUID"],
    ["const a = process.env.HOME", "process.env"],
    ["const a = process.env", "process.env"],
    ["const a = Effect.forkDaemon(work)", "forkDaemon"],
    ["const a = work.pipe(Effect.forkDaemon)", "forkDaemon"],
    ["Effect.runFork(work)", "runFork"],
    ["Runtime.runPromise(runtime)(work)", "runPromise"],
    ["Effect.runSync(work)", "runSync"],
    ["const a = Effect.runPromiseExit(work)", "runPromiseExit"],
    ['class A extends Effect.Service<A>()("A", {}) {}', "Effect.Service"]
  ] as const) {
    it(`names ${text}`, () => {
      const report = check(`\n${text}\n`)
      assert.include(report, `packages/jobs/src/Jobs.ts:2 ${use} is not for packages/jobs/src: use `)
      assert.notInclude(report, "\n")
    })
  }

  it("lets values, names of its own, strings and comments be", () => {
    const text = [
      "const at = new Date(0).toISOString()",
      "const at2 = Date.parse(text)",
      "interface Clock { readonly setTimeout: number; runSync(): void }",
      "const a = { setInterval: 1 }.constructor",
      "// Date.now() and Math.random() are not used here",
      'const b = "Date.now()" + `new Date()`'
    ]
    assert.strictEqual(check(text.join("\n")), "")
  })

  it("looks at the sources of packages only", () => {
    assert.strictEqual(check("Date.now()", "bench/jobs.ts"), "")
    assert.strictEqual(check("Date.now()", "test/jobs/Jobs.test.ts"), "")
  })

  it("lets cli run effects, and read the environment where a comment says why", () => {
    const cli = "packages/cli/src/main.ts"
    assert.strictEqual(check("Effect.runFork(work)", cli), "")
    assert.strictEqual(check("// The shell's own colour switch.\nconst a = process.env.NO_COLOR", cli), "")
    assert.match(check("const a = process.env.NO_COLOR", cli), /:1 process\.env .* or say why in a comment$/)
    assert.match(check("const a = Date.now()", cli), /:1 Date\.now is not for packages\/cli\/src/)
  })

  it("accepts a named exception and names one that is not used", () => {
    const entry = { file: "packages/mcp/src/Server.ts", use: "runPromise", why: "the protocol library calls back" }
    assert.strictEqual(check("Runtime.runPromise(runtime)", entry.file, [entry]), "")
    assert.match(check("", entry.file, [entry]), /^packages\/mcp\/src\/Server\.ts:1 runPromise is named in `allowed`/)
  })
})
