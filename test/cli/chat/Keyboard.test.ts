import * as Keyboard from "@afterturn/cli/chat/Keyboard"
import type { Key, KeyName } from "@afterturn/cli/chat/Keys"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"

const press = (name: KeyName): Key => ({ _tag: "Press", name })
const text = (typed: string): Key => ({ _tag: "Text", text: typed })

const start = Effect.gen(function* () {
  const typed = yield* Queue.unbounded<string>()
  const pressed = yield* Queue.unbounded<Key>()
  const reading = yield* Effect.forkScoped(Keyboard.read(Stream.fromQueue(typed), (key) => Queue.offer(pressed, key)))
  return { type: (piece: string) => Queue.offer(typed, piece), pressed, reading, typed }
})

describe("read", () => {
  it.scoped("puts sequences together that arrive in pieces", () =>
    Effect.gen(function* () {
      const { pressed, type } = yield* start
      yield* type("a\x1b[")
      yield* type("D")
      assert.deepStrictEqual([...(yield* Queue.takeN(pressed, 2))], [text("a"), press("left")])
    })
  )

  it.scoped("takes an escape for the key once nothing followed it for 50 milliseconds", () =>
    Effect.gen(function* () {
      const { pressed, type } = yield* start
      yield* type("\x1b")
      yield* TestClock.adjust("49 millis")
      assert.strictEqual(yield* Queue.size(pressed), 0)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* Queue.take(pressed), press("escape"))
    })
  )

  it.scoped("counts that time from the last piece", () =>
    Effect.gen(function* () {
      const { pressed, type } = yield* start
      yield* type("\x1b")
      yield* TestClock.adjust("40 millis")
      yield* type("[")
      yield* TestClock.adjust("40 millis")
      yield* type("A")
      assert.deepStrictEqual(yield* Queue.take(pressed), press("up"))
    })
  )

  it.scoped("waits for the end of a paste, however slow it comes", () =>
    Effect.gen(function* () {
      const { pressed, type } = yield* start
      yield* type("\x1b[200~one\r")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Queue.size(pressed), 0)
      yield* type("two\x1b[201~")
      assert.deepStrictEqual(yield* Queue.take(pressed), text("one\ntwo"))
    })
  )

  it.scoped("ends with the input, after the last key", () =>
    Effect.gen(function* () {
      const pressed: Array<Key> = []
      const press = (key: Key) => Effect.sync(() => void pressed.push(key))
      const reading = yield* Effect.fork(Keyboard.read(Stream.make("a", "b"), press))
      yield* Fiber.join(reading)
      assert.deepStrictEqual(pressed, [
        { _tag: "Text", text: "a" },
        { _tag: "Text", text: "b" }
      ])
    })
  )
})
