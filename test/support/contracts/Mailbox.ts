/** What every mailbox does. Run by each implementation with its own layer. */
import type { CommandHandler } from "@afterturn/session-log/Mailbox"
import { CommandUnanswered, handler, Mailbox } from "@afterturn/session-log/Mailbox"
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { freshId } from "./SessionStore.js"

const Greet = { name: "greet", input: Schema.Struct({ name: Schema.String }), answer: Schema.String }

const greeting = handler(Greet, ({ name }) => Effect.succeed(`hello ${name}`))

type Session = ReturnType<typeof freshId>

const greet = (session: Session, name: string) =>
  Effect.flatMap(Mailbox, (mailbox) => mailbox.send(session, Greet, { name }))

const serve = (session: Session, ...handlers: ReadonlyArray<CommandHandler>) =>
  Effect.forkScoped(Effect.flatMap(Mailbox, (mailbox) => mailbox.serve(session, handlers)))

/** Lets time pass in small steps until a fiber is done: both ends look now and then, and a database takes its own time. */
const untilDone = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    while ((yield* Fiber.poll(fiber))._tag === "None") {
      yield* TestClock.adjust("50 millis")
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    }
    return yield* Fiber.join(fiber)
  })

const answered = <A, E, R>(send: Effect.Effect<A, E, R>) => Effect.flatMap(Effect.fork(send), untilDone)

const reasonOf = (error: unknown) => (error instanceof CommandUnanswered ? error.reason : assert.fail(String(error)))

export const contract = <R, E>(name: string, implementation: Layer.Layer<Mailbox | R, E>): void =>
  layer(implementation, { timeout: 30_000 })(`mailbox: ${name}`, (it) => {
    it.scoped("hands a command to whoever serves the session, and its answer back, within a second", () =>
      Effect.gen(function* () {
        const session = freshId()
        yield* serve(session, greeting)
        // Served for a while without anything to do.
        yield* TestClock.adjust("3 seconds")
        const sending = yield* Effect.timed(greet(session, 'Ada \u0000\ud800 "x"')).pipe(Effect.fork)
        const [took, answer] = yield* untilDone(sending)
        assert.strictEqual(answer, 'hello Ada \u0000\ud800 "x"')
        assert.isAtMost(Duration.toMillis(took), 1_000)
      })
    )

    it.scoped("keeps a command for who comes to serve the session while its sender waits", () =>
      Effect.gen(function* () {
        const session = freshId()
        yield* serve(
          freshId(),
          handler(Greet, () => Effect.succeed("the wrong one"))
        )
        const sending = yield* Effect.fork(greet(session, "Ada"))
        yield* TestClock.adjust("8 seconds")
        yield* serve(session, greeting)
        assert.strictEqual(yield* untilDone(sending), "hello Ada")
      })
    )

    it.scoped("withdraws a command that nobody took in 10 seconds: nobody will execute it", () =>
      Effect.gen(function* () {
        const session = freshId()
        const executed: Array<string> = []
        const sending = yield* Effect.fork(Effect.timed(Effect.flip(greet(session, "Ada"))))
        const [took, error] = yield* untilDone(sending)
        assert.strictEqual(reasonOf(error), "not-taken")
        assert.isAtLeast(Duration.toMillis(took), 10_000)
        yield* serve(
          session,
          handler(Greet, ({ name }) => Effect.sync(() => String(executed.push(name))))
        )
        yield* answered(greet(session, "Bob"))
        assert.deepStrictEqual(executed, ["Bob"])
      })
    )

    it.scoped("withdraws a command whose sender was interrupted", () =>
      Effect.gen(function* () {
        const session = freshId()
        const executed: Array<string> = []
        const sending = yield* Effect.fork(greet(session, "Ada"))
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(sending)
        yield* serve(
          session,
          handler(Greet, ({ name }) => Effect.sync(() => String(executed.push(name))))
        )
        yield* answered(greet(session, "Bob"))
        assert.deepStrictEqual(executed, ["Bob"])
      })
    )

    it.scoped("says that a command was taken when its answer does not come", () =>
      Effect.gen(function* () {
        const session = freshId()
        const taken = yield* Deferred.make<void>()
        yield* serve(
          session,
          handler(Greet, () => Effect.zipRight(Deferred.succeed(taken, undefined), Effect.never))
        )
        const error = yield* answered(Effect.flip(greet(session, "Ada")))
        assert.strictEqual(reasonOf(error), "not-answered")
        assert.isTrue(yield* Deferred.isDone(taken))
      })
    )

    it.scoped("executes each command once, whoever serves", () =>
      Effect.gen(function* () {
        const session = freshId()
        const executed: Array<string> = []
        const counting = handler(Greet, ({ name }) => Effect.sync(() => String(executed.push(name))))
        const names = Array.from({ length: 12 }, (_, index) => `n${index}`)
        for (let server = 0; server < 3; server++) yield* serve(session, counting)
        yield* answered(Effect.forEach(names, (name) => greet(session, name), { concurrency: "unbounded" }))
        assert.deepStrictEqual(executed.toSorted(), names.toSorted())
      })
    )

    it.scoped("executes commands in the order in which they were sent", () =>
      Effect.gen(function* () {
        const session = freshId()
        const executed: Array<string> = []
        const sending: Array<Fiber.Fiber<string, unknown>> = []
        for (const name of ["first", "second", "third"]) {
          sending.push(yield* Effect.fork(greet(session, name)))
          yield* TestClock.adjust("1 second")
          yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 20)))
        }
        yield* serve(
          session,
          handler(Greet, ({ name }) => Effect.sync(() => String(executed.push(name))))
        )
        for (const fiber of sending) yield* untilDone(fiber)
        assert.deepStrictEqual(executed, ["first", "second", "third"])
      })
    )

    it.scoped("answers for a handler that fails, breaks, is unknown or gets what it does not take, and goes on", () =>
      Effect.gen(function* () {
        const session = freshId()
        const mailbox = yield* Mailbox
        const failing = { ...Greet, name: "fail" }
        const breaking = { ...Greet, name: "break" }
        const strict = { name: "strict", input: Schema.Number, answer: Schema.String }
        yield* serve(
          session,
          greeting,
          // @effect-diagnostics-next-line globalErrorInEffectFailure:off
          handler(failing, () => Effect.fail(new Error("not today"))),
          handler(breaking, () => Effect.die(new Error("oh"))),
          handler(strict, () => Effect.succeed("unreachable"))
        )
        for (const [type, detail] of [
          [failing, "not today"],
          [breaking, "oh"],
          [{ ...Greet, name: "nobody" }, 'it knows no command "nobody"'],
          [{ ...Greet, name: "strict" }, "Expected number"]
        ] as const) {
          const error = yield* answered(Effect.flip(mailbox.send(session, type, { name: "Ada" })))
          assert.strictEqual(reasonOf(error), "broken")
          assert.include(String(error), detail)
        }
        const wrong = { ...Greet, answer: Schema.Number }
        const misread = yield* answered(Effect.either(mailbox.send(session, wrong, { name: "Ada" })))
        assert.strictEqual(reasonOf(Either.getOrThrow(Either.flip(misread))), "broken")
        assert.strictEqual(yield* answered(greet(session, "Ada")), "hello Ada")
      })
    )

    it.scoped("answers for a command that its server was interrupted over", () =>
      Effect.gen(function* () {
        const session = freshId()
        const taken = yield* Deferred.make<void>()
        const never = handler(Greet, () => Effect.zipRight(Deferred.succeed(taken, undefined), Effect.never))
        const serving = yield* serve(session, never)
        const sending = yield* Effect.fork(Effect.flip(greet(session, "Ada")))
        while (!(yield* Deferred.isDone(taken))) yield* TestClock.adjust("100 millis")
        yield* Fiber.interrupt(serving)
        const error = yield* untilDone(sending)
        assert.strictEqual(reasonOf(error), "broken")
        assert.include(String(error), "stopped driving")
      })
    )
  })
