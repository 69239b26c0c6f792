import { assert, describe, it } from "vitest"
import { checkReasons } from "./Reasons.js"
import { render, sample } from "./Repository.js"

const check = (text: string) => render(checkReasons(sample({ "packages/jobs/src/Jobs.ts": text })))

const uses = [
  ["const a = value as any", "as any"],
  ["const a = value as unknown as Job", "as unknown as"],
  ["const a = Effect.orDie(work)", "Effect.orDie"],
  ["const a = Layer.orDie(layer)", "Layer.orDie"],
  ["const a = work.pipe(Effect.ignore)", "Effect.ignore"],
  ["const a = Effect.ignoreLogged(work)", "Effect.ignoreLogged"],
  ["const a = Stream.catchAllCause(stream, handle)", "Stream.catchAllCause"]
] as const

describe("checkReasons", () => {
  for (const [text, use] of uses) {
    it(`asks for a reason for ${use}, and takes it from either line`, () => {
      assert.strictEqual(
        check(`\n${text}\n`),
        `packages/jobs/src/Jobs.ts:2 ${use} without a reason: say on the line before what is lost, or why it holds`
      )
      assert.strictEqual(check(`// the child is gone already\n${text}\n`), "")
      assert.strictEqual(check(`${text} // the child is gone already\n`), "")
      assert.strictEqual(check(`/* the child\n   is gone already */\n${text}\n`), "")
      assert.strictEqual(check(`/* the child\n   is gone already */ ${text}\n`), "")
    })
  }

  it("takes no reason from further away, from a doc comment or from a string", () => {
    const text = uses[2][0]
    assert.notStrictEqual(check(`// why\n\n${text}`), "")
    assert.notStrictEqual(check(`/** What it does. */\n${text}`), "")
    assert.notStrictEqual(check(`const b = "// why"\n${text}`), "")
    assert.notStrictEqual(check(`const b = \`\n// why\n\${1}\`\n${text}`), "")
  })

  it("asks at the line of the call in a pipe", () => {
    const pipe = (comment: string) => `const a = work.pipe(\n  Effect.asVoid,${comment}\n  Effect.orDie\n)`
    assert.match(check(pipe("")), /Jobs\.ts:3 Effect\.orDie/)
    assert.strictEqual(check(pipe("\n  // cannot fail: checked above")), "")
  })

  it("asks a directive to explain itself", () => {
    assert.match(check("// @ts-expect-error\nconst a: string = 1"), /Jobs\.ts:1 @ts-expect-error without a reason/)
    assert.match(check("// @ts-ignore\nconst a: string = 1"), /Jobs\.ts:1 @ts-ignore/)
    assert.strictEqual(check("// @ts-expect-error the driver's types lack it\nconst a: string = 1"), "")
    assert.strictEqual(check("// The driver's types lack it.\n// @ts-expect-error\nconst a: string = 1"), "")
  })

  it("lets other names be", () => {
    assert.strictEqual(check("const a = value as Job\nconst b = list.ignore\nconst c = 'as any'\n// as any"), "")
  })
})
