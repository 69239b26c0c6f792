import * as Job from "@afterturn/jobs/Job"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import * as Schema from "effect/Schema"

const isJobId = Schema.is(Job.JobId)

describe("JobId", () => {
  it("is a kind and a number from 1, with host- for a job that nobody owns", () => {
    for (const id of ["bash-1", "subagent-999999999999999", "a-1", "host-bash-1", "my_kind2-10", "host-1"]) {
      assert.isTrue(isJobId(id), id)
    }
    for (const id of [
      "",
      "bash",
      "bash-0",
      "bash-01",
      "bash-1 ",
      "Bash-1",
      "-1",
      "bash--1",
      "host-host-bash-1",
      "a.b-1"
    ]) {
      assert.isFalse(isJobId(id), id)
    }
  })

  it("says what it expects", () => {
    assert.throws(() => Job.JobId.make("nope"), /expected a job id like "bash-1", got "nope"/)
  })
})

describe("isTerminal", () => {
  it("holds for the three ends", () => {
    const all = ["running", "stopping", "completed", "killed", "failed"] as const
    assert.deepStrictEqual(all.filter(Job.isTerminal), ["completed", "killed", "failed"])
  })
})

describe("labelLine", () => {
  it("leaves one line as it is", () => {
    for (const line of ["npm test", "Übersetzung läuft — 90 %", "🎉 done", "", "a\\nb"]) {
      assert.strictEqual(Job.labelLine(line), line)
    }
  })

  it("shows what would end a line, move the cursor or reorder text", () => {
    assert.strictEqual(
      Job.labelLine("a\nb\r\tc\u0000\u001b[31m\u009b\u2028"),
      "a\\nb\\u000d\\tc\\u0000\\u001b[31m\\u009b\\u2028"
    )
    assert.strictEqual(Job.labelLine("\u202eevil\u2066\u200f\ufeff"), "\\u202eevil\\u2066\\u200f\\ufeff")
    assert.strictEqual(Job.labelLine("half \ud83c"), "half \\ud83c")
  })

  it("is one line of at most 200 characters, whatever it is made of", () => {
    const texts = fc.oneof(fc.fullUnicodeString({ maxLength: 500 }), fc.string16bits({ maxLength: 500 }))
    fc.assert(
      fc.property(texts, (label) => {
        const line = Job.labelLine(label)
        assert.isAtMost([...line].length, 200)
        assert.notMatch(line, /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u)
        assert.strictEqual(Job.labelLine(line), line)
      })
    )
  })

  it("cuts a long one at the edge of a character and says so", () => {
    assert.strictEqual(Job.labelLine("x".repeat(200)), "x".repeat(200))
    assert.strictEqual(Job.labelLine("🎉".repeat(201)), `${"🎉".repeat(199)}…`)
    assert.strictEqual(Job.labelLine("\n".repeat(1_000_000)).length, 200)
  })
})
