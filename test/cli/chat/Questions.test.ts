import * as Display from "@afterturn/cli/chat/Display"
import * as Questions from "@afterturn/cli/chat/Questions"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

const request = (action: string) => ({ tool: "bash", action })

describe("read", () => {
  const question = { request: request("git status -s"), prefix: "git status" }
  for (const [text, answer] of [
    ["y", { _tag: "once" }],
    [" Yes ", { _tag: "once" }],
    ["n", { _tag: "no" }],
    ["NO", { _tag: "no" }],
    ["a", { _tag: "always", prefix: "git status" }],
    ["always git", { _tag: "always", prefix: "git" }],
    ["a rm", undefined],
    ["y y", undefined],
    ["no, do the other thing", undefined],
    ["", undefined]
  ] as const) {
    it(JSON.stringify(text), () => assert.deepStrictEqual(Questions.read(question, text), answer))
  }

  it("has no always for a command that holds a second one", () => {
    const two = { request: request("git status; reboot"), prefix: undefined }
    for (const text of ["a", "a git"]) assert.isUndefined(Questions.read(two, text))
  })
})

describe("make", () => {
  it.effect("answers nobody when nothing is asked, nor the next question", () =>
    Effect.gen(function* () {
      const happenings = yield* Display.makeHappenings
      const questions = Questions.make(happenings)
      yield* questions.answer({ _tag: "once" })
      const asked = yield* Effect.fork(questions.ask(request("ls")))
      yield* Effect.yieldNow()
      assert.strictEqual((yield* Fiber.poll(asked))._tag, "None")
      yield* questions.answer({ _tag: "no" })
      assert.deepStrictEqual(yield* Fiber.join(asked), { _tag: "no" })
      const [shown] = yield* happenings.takeAll
      const tags = [...shown].map((happening) =>
        happening._tag === "Question" ? (happening.question === undefined ? "over" : "asked") : happening._tag
      )
      assert.deepStrictEqual(tags, ["Note", "asked", "over"])
    })
  )
})
