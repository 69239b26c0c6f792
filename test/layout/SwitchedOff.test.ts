import { assert, describe, it } from "vitest"
import { render, sample } from "./Repository.js"
import { checkSwitchedOff } from "./SwitchedOff.js"

const check = (text: string, path = "test/jobs/Jobs.test.ts") => render(checkSwitchedOff(sample({ [path]: text })))

describe("checkSwitchedOff", () => {
  it("names tests that are switched off, alone or expected to fail, in each form", () => {
    const forms = ["it.only", "it.effect.skip", "it.scoped.only", "test.todo", "describe.skip", "it.live.fails"]
    const report = check(forms.map((form) => `${form}("x", () => {})`).join("\n")).split("\n")
    assert.deepStrictEqual(
      report,
      forms.map((form, index) => `test/jobs/Jobs.test.ts:${index + 1} ${form}: let it run, or delete it`)
    )
  })

  it("lets conditions, other objects, strings and other folders be", () => {
    assert.strictEqual(check('it.skipIf(!url)("x", () => {})\nstream.skip(1)\nconst text = "it.only"'), "")
    assert.strictEqual(check('it.only("x", () => {})', "packages/jobs/src/Jobs.ts"), "")
  })
})
