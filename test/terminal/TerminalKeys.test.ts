import * as TerminalKeys from "@afterturn/terminal/TerminalKeys"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

const normal = { applicationCursor: false }

const sent = (key: string, modes = normal) =>
  Either.getOrElse(TerminalKeys.encode(key, modes), (problem) => `! ${problem}`)

describe("keys", () => {
  it("are sent as a keyboard does", () => {
    assert.strictEqual(sent("enter"), "\r")
    assert.strictEqual(sent("Ctrl-C"), "\u0003")
    assert.strictEqual(sent("ctrl-@"), "\u0000")
    assert.strictEqual(sent("escape"), "\u001b")
    assert.strictEqual(sent("alt-F"), "\u001bF")
    assert.strictEqual(sent("F5"), "\u001b[15~")
  })

  it("of the cursor have two forms", () => {
    assert.strictEqual(sent("left"), "\u001b[D")
    assert.strictEqual(sent("left", { applicationCursor: true }), "\u001bOD")
  })

  it("that are none are refused with those that there are", () => {
    for (const key of ["hyper-x", "", "ctrl-", "constructor"]) assert.match(sent(key), /^! expected .*page-up.*, got /)
    for (const name of TerminalKeys.names) assert.notMatch(sent(name), /^!/)
  })
})
