import type { Happening } from "@afterturn/cli/chat/ChatState"
import * as Display from "@afterturn/cli/chat/Display"
import * as Row from "@afterturn/cli/chat/Row"
import * as Transcript from "@afterturn/cli/chat/Transcript"
import { Tty } from "@afterturn/cli/chat/Tty"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as rig from "./rig.js"

const note = (text: string): Happening => ({ _tag: "Note", lines: [Row.line(text)] })

const start = Effect.gen(function* () {
  const desk = yield* rig.makeDesk
  let writes = 0
  const tty = {
    ...desk.tty,
    write: (bytes: string) => Effect.sync(() => writes++).pipe(Effect.zipRight(desk.tty.write(bytes)))
  }
  const happenings = yield* Display.makeHappenings
  const performed: Array<Display.WorkAction> = []
  const options = { title: "t", transcript: Transcript.make(), happenings, color: false, input: true }
  const display = yield* Effect.fork(
    Display.run({ ...options, perform: (action) => Effect.sync(() => performed.push(action)) }).pipe(
      Effect.provideService(Tty, tty)
    )
  )
  return { ...desk, happenings, display, performed, writes: () => writes }
})

describe("run", () => {
  it.effect("draws once for all that happens between two frames", () =>
    Effect.gen(function* () {
      const { happenings, terminal, writes } = yield* start
      yield* TestClock.adjust("1 second")
      const before = writes()
      yield* happenings.offerAll(Array.from({ length: 50 }, (_, index) => note(`line ${index}`)))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(writes() - before, 1)
      assert.strictEqual(terminal.text()[49], "line 49")
    })
  )

  it.effect("draws by itself only while something moves", () =>
    Effect.gen(function* () {
      const { happenings, terminal, writes } = yield* start
      yield* happenings.offer({ _tag: "Status", status: "running" })
      yield* TestClock.adjust("3 seconds")
      assert.include(terminal.text().join(), "3 s")
      assert.isAbove(writes(), 20)
      yield* happenings.offer({ _tag: "Status", status: "idle" })
      yield* TestClock.adjust("1 second")
      const rested = writes()
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(writes(), rested)
    })
  )

  it.effect("hands on what others are to do, and ends when the person quits", () =>
    Effect.gen(function* () {
      const { display, happenings, performed } = yield* start
      yield* happenings.offerAll([
        { _tag: "Key", key: { _tag: "Text", text: "hello" } },
        { _tag: "Key", key: { _tag: "Press", name: "enter" } },
        { _tag: "Key", key: { _tag: "Press", name: "endOfInput" } }
      ])
      yield* Fiber.join(display)
      assert.deepStrictEqual(performed, [{ _tag: "Send", text: "hello" }])
    })
  )

  it.effect("shows what happened last also when it is interrupted", () =>
    Effect.gen(function* () {
      const { display, happenings, terminal } = yield* start
      yield* TestClock.adjust("1 second")
      yield* happenings.offerAll([note("one"), note("two")])
      yield* Fiber.interrupt(display)
      assert.deepStrictEqual(terminal.text(), ["one", "two"])
    })
  )
})
