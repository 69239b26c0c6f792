import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, workplace } from "../../support/afterturn.js"

const todos = [
  { content: "Read the changelog", status: "completed" },
  { content: "Write the entry", status: "in_progress" }
]

describe("todo show", () => {
  it.live("shows the present list, and every one before it", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const show = (...args: ReadonlyArray<string>) => inProcess(["todo", "show", "s1", "--db", place.db, ...args])
      const say = (text: string) => inProcess(["run", ...place.scripted, "--session", "s1", text])

      yield* say("plan it")
      assert.strictEqual(
        (yield* show()).stdout,
        "[x] Read the changelog\n[~] Write the entry\n\n2 todos: 1 completed, 1 in progress, 0 pending.\n"
      )
      assert.deepStrictEqual(JSON.parse((yield* show("--json")).stdout), {
        todos,
        counts: { pending: 0, inProgress: 1, completed: 1 }
      })

      yield* say("something else")
      assert.strictEqual((yield* show()).stdout, "no todo list\n")
      assert.deepStrictEqual(JSON.parse((yield* show("--json")).stdout), {
        todos: null,
        counts: { pending: 0, inProgress: 0, completed: 0 }
      })

      const history = JSON.parse((yield* show("--history", "--json")).stdout)
      assert.deepStrictEqual(
        history.map(({ time: _, ...version }: { readonly time: string }) => version),
        [
          { seq: 7, turn: 1, todos, inherited: false },
          { seq: 16, turn: 2, todos: null, inherited: false }
        ]
      )
      assert.match(
        (yield* show("--history")).stdout,
        /^.+Z, event 7, turn 1\n\[x\] Read the changelog\n\[~\] Write the entry\n\n.+Z, event 16, turn 2\ncleared\n$/
      )
    }).pipe(Effect.scoped)
  )

  it.live("tells a session without a list from none", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      yield* inProcess(["run", ...place.scripted, "--session", "s1", "hello"])
      const show = (...args: ReadonlyArray<string>) => inProcess(["todo", "show", "--db", place.db, ...args])
      assert.strictEqual((yield* show("s1", "--history")).stdout, "no todo list\n")
      for (const more of [[], ["--history"]]) {
        const { code, stderr } = yield* show("s2", ...more)
        assert.deepStrictEqual({ code, stderr }, { code: 1, stderr: 'afterturn: no session "s2"\n' })
      }
    }).pipe(Effect.scoped)
  )
})
