import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "vitest"

const runner = new URL("../../examples/run.mjs", import.meta.url).pathname

const withExamples = async (
  files: Readonly<Record<string, string>>,
  use: (folder: string, run: (...args: ReadonlyArray<string>) => Promise<Outcome>) => Promise<void>
) => {
  const folder = mkdtempSync(join(tmpdir(), "afterturn-examples-test-"))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  try {
    await use(folder, (...args) => run([...args, folder]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Outcome {
  readonly code: number
  readonly output: string
}

const run = (args: ReadonlyArray<string>): Promise<Outcome> =>
  new Promise((resolve) => {
    execFile(process.execPath, [runner, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
  })

const twoLines = 'const text: string = "one"\nconsole.log(text + "  \\n\\n  two")\n\n'

describe("the examples' runner", () => {
  it("passes what prints its output block, blanks at line ends apart", () =>
    withExamples({ "a.ts": `${twoLines}// output:\n// one\n//\n//   two\n` }, async (_, runAll) => {
      assert.deepStrictEqual(await runAll(), { code: 0, output: "1 examples, 0 failed\n" })
    }))

  it("names each example that prints something else, fails, or has no block", () =>
    withExamples(
      {
        "differs.ts": `${twoLines}// output:\n// one\n//\n//   three\n`,
        "short.ts": `${twoLines}// output:\n// one\n`,
        "fails.ts": 'console.log("one")\nthrow new Error("broken on purpose")\n\n// output:\n// one\n',
        "bare.ts": `${twoLines}// output:\n// one\n//\n//   two\nexport {}\n`
      },
      async (_, runAll) => {
        const { code, output } = await runAll()
        assert.strictEqual(code, 1)
        assert.match(output, /^differs\.ts printed .* line 3 .*\n {2}expected: {3}three\n {2}printed: {4}two$/m)
        assert.match(output, /^short\.ts printed .* line 2 .*\n {2}expected: \(no more lines\)/m)
        assert.match(output, /^fails\.ts exited with 1\n(.*\n)*.*broken on purpose/m)
        assert.match(output, /^bare\.ts does not end in an output block/m)
        assert.match(output, /^4 examples, 4 failed$/m)
      }
    ))

  it("writes the block when asked to, over an old one or where there was none", () =>
    withExamples({ "new.ts": twoLines, "old.ts": `${twoLines}// output:\n// stale\n` }, async (folder, runAll) => {
      assert.strictEqual((await runAll("--write")).code, 0)
      for (const name of ["new.ts", "old.ts"]) {
        assert.strictEqual(readFileSync(join(folder, name), "utf8"), `${twoLines}// output:\n// one\n//\n//   two\n`)
      }
      assert.strictEqual((await runAll()).code, 0)
    }))
})
