import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, workplace } from "../../support/afterturn.js"

describe("terminals", () => {
  it.live("are none where no process drives the session, and those that were are said to be gone", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      yield* inProcess(["run", ...place.scripted, "--session", "s1", "hello"])
      const run = (...args: ReadonlyArray<string>) => inProcess(["terminals", "--db", place.db, ...args])
      const all = yield* run("--session", "s1")
      assert.deepStrictEqual([all.code, all.stdout], [0, "no terminals\n"])
      assert.include(all.stderr, "ended with the process that held them")
      assert.strictEqual((yield* run("--session", "s1", "--json")).stdout, "[]\n")
      const one = yield* run("--session", "s1", "term-1")
      assert.deepStrictEqual([one.code, one.stdout], [1, ""])
      assert.include((yield* run("--session", "s2")).stderr, 'no session "s2"')
    }).pipe(Effect.scoped)
  )

  it.live("need an id for what is done to one, and a size and keys that are such", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const run = (...args: ReadonlyArray<string>) =>
        inProcess(["terminals", "--db", place.db, "--session", "s1", ...args])
      assert.include((yield* run("--keys", "enter")).stderr, "need the id of a terminal")
      assert.include((yield* run("term-1", "--size", "big")).stderr, "120x40")
      assert.strictEqual((yield* run("term-1", "--keys", "a,,b")).code, 2)
    }).pipe(Effect.scoped)
  )
})
