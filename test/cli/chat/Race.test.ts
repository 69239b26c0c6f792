import * as Race from "@afterturn/cli/chat/Race"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

/** Runs for good, and takes a while to end. */
const stubborn = (log: Array<string>, name: string, begun?: Deferred.Deferred<void>) =>
  Effect.never.pipe(
    Effect.tap(() => Effect.void),
    Effect.ensuring(
      Effect.gen(function* () {
        for (let count = 0; count < 10; count++) yield* Effect.yieldNow()
        log.push(name)
      })
    ),
    (effect) => (begun === undefined ? effect : Effect.zipRight(Deferred.succeed(begun, undefined), effect))
  )

describe("first", () => {
  it.effect("has the outcome of whichever ends first", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Race.first<string>(Effect.never, Effect.succeed("b")), "b")
      assert.strictEqual(yield* Effect.flip(Race.first<never, string>(Effect.never, Effect.fail("no"))), "no")
    })
  )

  it.effect("waits for the end of the others", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const begun = yield* Deferred.make<void>()
      yield* Race.first<void>(stubborn(log, "other", begun), Deferred.await(begun))
      assert.deepStrictEqual(log, ["other"])
    })
  )

  it.effect("waits for the end of all when it is interrupted", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const begun = yield* Deferred.make<void>()
      const racing = Race.first(stubborn(log, "one"), stubborn(log, "two", begun))
      const fiber = yield* Effect.fork(
        Effect.ensuring(
          racing,
          Effect.sync(() => log.push("outside"))
        )
      )
      yield* Deferred.await(begun)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.deepStrictEqual(log, ["two", "one", "outside"])
    })
  )
})
