import { assert, describe, it } from "vitest"
import { render, sample } from "./Repository.js"
import { checkWords } from "./Words.js"

const check = (files: Record<string, string>) => render(checkWords(sample(files)))

describe("checkWords", () => {
  it("names a word of the workplace, with its line, in any kind of file", () => {
    const report = check({
      "docs/a.md": "one\nsee /work/main/docs\n",
      "packages/jobs/src/Jobs.ts": "// see shared/design\n",
      "bench/b.ts": "// Issue #12\n",
      "README.md": "term of seeds/004"
    }).split("\n")
    assert.deepStrictEqual(
      report.map((line) => line.slice(0, line.indexOf(" is a word"))),
      [
        'docs/a.md:2 "/work/"',
        'packages/jobs/src/Jobs.ts:1 "shared/"',
        'bench/b.ts:1 "Issue #"',
        'README.md:1 "seeds/"'
      ]
    )
  })

  it("lets other uses of the words and .ci/run be", () => {
    const text = "a shared lock, homework/x, workspace:*, an issue, seeds, pre-shared/x"
    assert.strictEqual(check({ "docs/a.md": text, ".ci/run": "../shared/x" }), "")
  })
})
