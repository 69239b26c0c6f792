import { execFileSync } from "node:child_process"
import * as ShellWord from "@afterturn/cli/chat/ShellWord"
import { assert, describe, it } from "@effect/vitest"

describe("quote", () => {
  it("leaves plain words alone", () => {
    assert.strictEqual(ShellWord.quote("scripted:/tmp/a-b_1.json"), "scripted:/tmp/a-b_1.json")
  })

  it("gives a shell the word that it was", () => {
    const words = ["", "a b", "it's", "$HOME `x` \\", 'say "hi"', "*?[a]", "~", "a;b&c|d", "é日"]
    const said = execFileSync("sh", ["-c", `printf '%s\\n' ${words.map(ShellWord.quote).join(" ")}`], {
      encoding: "utf8"
    })
    assert.deepStrictEqual(said.split("\n").slice(0, -1), words)
  })
})
