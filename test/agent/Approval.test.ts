import * as Approval from "@afterturn/agent/Approval"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"

const decide = (action: string) =>
  Effect.map(
    Effect.flatMap(Approval.Approval, (approval) => approval.decide({ tool: "bash", action })),
    (decision) => decision._tag
  )

describe("Approval", () => {
  it.effect("follows the policy where no rule matches", () =>
    Effect.gen(function* () {
      const under = (policy: "allow" | "deny" | "ask") => Effect.provide(decide("ls"), Approval.layer({ policy }))
      assert.strictEqual(yield* under("allow"), "allowed")
      assert.strictEqual(yield* under("deny"), "denied")
      assert.strictEqual(yield* under("ask"), "denied")
    })
  )

  it.effect("lets the longest matching prefix decide, at a word's end and for one command only", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* decide("git status"), "allowed")
      assert.strictEqual(yield* decide("git"), "allowed")
      assert.strictEqual(yield* decide("git push --force"), "denied")
      assert.strictEqual(yield* decide("gitk"), "denied")
      assert.strictEqual(yield* decide("git status; rm -rf ~"), "denied")
      assert.strictEqual(yield* decide("git log $(rm -rf ~)"), "denied")
      assert.strictEqual(yield* decide("git log\nrm -rf ~"), "denied")
    }).pipe(
      Effect.provide(
        Approval.layer({
          policy: "deny",
          rules: [
            { tool: "bash", prefix: "git", decision: "allow" },
            { tool: "bash", prefix: "git push", decision: "deny" },
            { tool: "other", prefix: "git push", decision: "allow" }
          ]
        })
      )
    )
  )

  it.effect("says why when it is not the person who said no", () =>
    Effect.gen(function* () {
      const decision = (answer: Approval.ApprovalAnswer) =>
        Effect.flatMap(Approval.Approval, (approval) => approval.decide({ tool: "bash", action: "ls" })).pipe(
          Effect.provide(Approval.layer({ policy: "ask", ask: () => Effect.succeed(answer) }))
        )
      assert.deepStrictEqual(yield* decision({ _tag: "no" }), {
        _tag: "denied",
        reason: "the user did not approve it"
      })
      assert.deepStrictEqual(yield* decision({ _tag: "no", reason: "gone" }), { _tag: "denied", reason: "gone" })
    })
  )

  it.effect("asks one question at a time and remembers what is always allowed", () =>
    Effect.gen(function* () {
      const questions = yield* Ref.make<ReadonlyArray<string>>([])
      const ask = (request: Approval.ApprovalRequest) =>
        Ref.update(questions, (asked) => [...asked, request.action]).pipe(
          Effect.zipRight(Effect.yieldNow()),
          Effect.as<Approval.ApprovalAnswer>(
            request.action.startsWith("npm") ? { _tag: "always", prefix: "npm" } : { _tag: "no" }
          )
        )
      const decisions = yield* Effect.all([decide("npm test"), decide("npm ci"), decide("rm x")], {
        concurrency: "unbounded"
      }).pipe(Effect.provide(Approval.layer({ policy: "ask", ask })))
      assert.deepStrictEqual(decisions, ["allowed", "allowed", "denied"])
      assert.deepStrictEqual(yield* Ref.get(questions), ["npm test", "rm x"])
    })
  )
})

describe("prefixOf", () => {
  for (const [action, prefix] of [
    ["git status -s", "git status"],
    ["git", "git"],
    ["rm -rf build", "rm"],
    ["cat README.md", "cat"],
    ["./run.sh now", "./run.sh now"],
    ["npm run build", "npm run"],
    ["make; reboot", undefined],
    ["echo $HOME", undefined],
    ["echo a\nreboot", undefined]
  ] as const) {
    it(JSON.stringify(action), () => assert.strictEqual(Approval.prefixOf(action), prefix))
  }
})
