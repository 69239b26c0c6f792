import { EventEmitter } from "node:events"
import { Tty } from "@afterturn/cli/chat/Tty"
import type { Process } from "@afterturn/cli/chat/Tty/Node"
import * as NodeTty from "@afterturn/cli/chat/Tty/Node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"

/** A process whose terminal remembers what was done to it. */
class FakeProcess extends EventEmitter implements Process {
  readonly pid = 1
  readonly done: Array<string> = []
  size: [number, number] = [80, 24]
  readonly kill = (pid: number, signal: string) => this.done.push(`kill ${pid} ${signal}`)
  readonly stdin = Object.assign(new EventEmitter(), {
    setRawMode: (raw: boolean) => this.done.push(raw ? "raw" : "cooked"),
    setEncoding: (encoding: string) => this.done.push(encoding),
    resume: () => this.done.push("resume"),
    pause: () => this.done.push("pause")
  })
  readonly stdout = Object.assign(new EventEmitter(), {
    getWindowSize: () => this.size,
    write: (bytes: string) => this.done.push(bytes)
  })

  listening(): ReadonlyArray<string> {
    const of = (name: string, emitter: EventEmitter) =>
      emitter.eventNames().map((event) => `${name} ${String(event)} ${emitter.listenerCount(event)}`)
    return [...of("process", this), ...of("stdin", this.stdin), ...of("stdout", this.stdout)]
  }
}

const on = <A, E>(host: FakeProcess, effect: Effect.Effect<A, E, Tty>) =>
  Effect.provide(effect, NodeTty.layerProcess(host))

/** Waits until somebody listens: a stream is not run at once. */
const listenedTo = (emitter: EventEmitter, event: string): Effect.Effect<void> =>
  Effect.suspend(() =>
    emitter.listenerCount(event) > 0 ? Effect.void : Effect.zipRight(Effect.yieldNow(), listenedTo(emitter, event))
  )

const isRestored = (host: FakeProcess) => {
  const written = host.done.join("")
  assert.strictEqual(
    host.done.filter((what) => what === "raw").length,
    host.done.filter((what) => what === "cooked").length
  )
  for (const mode of ["?2004l", "?25h", "?7h", "?2026l"]) assert.include(written, `\x1b[${mode}`)
}

describe("layerProcess", () => {
  it.effect("takes the terminal for its scope and puts it back", () =>
    Effect.gen(function* () {
      const host = new FakeProcess()
      yield* on(
        host,
        Effect.sync(() => assert.deepStrictEqual(host.done, ["raw", "utf8", "\x1b[?2004h"]))
      )
      isRestored(host)
      assert.strictEqual(host.done.at(-1), "pause")
      assert.deepStrictEqual(host.listening(), [])
    })
  )

  it.effect("puts it back when the process exits in the middle", () =>
    Effect.gen(function* () {
      const host = new FakeProcess()
      yield* on(
        host,
        Effect.sync(() => {
          host.emit("exit")
          isRestored(host)
        })
      )
    })
  )

  it.effect("puts it back however its use ends", () =>
    Effect.gen(function* () {
      for (const end of [Effect.fail("no"), Effect.die("no"), Effect.interrupt]) {
        const host = new FakeProcess()
        yield* Effect.exit(on(host, end))
        isRestored(host)
      }
    })
  )

  it.effect("gives what is typed, until the terminal goes away", () =>
    Effect.gen(function* () {
      for (const gone of ["end", "SIGHUP"]) {
        const host = new FakeProcess()
        const typed = yield* on(
          host,
          Effect.gen(function* () {
            const tty = yield* Tty
            const reading = yield* Effect.fork(Stream.runCollect(tty.input))
            yield* listenedTo(host, "SIGHUP")
            assert.include(host.done, "resume")
            host.stdin.emit("data", "a")
            host.stdin.emit("data", "é")
            if (gone === "end") host.stdin.emit(gone)
            else host.emit(gone)
            return yield* Fiber.join(reading)
          })
        )
        assert.deepStrictEqual([...typed], ["a", "é"])
      }
    })
  )

  it.effect("knows the size of the moment, and each new one", () =>
    Effect.gen(function* () {
      const host = new FakeProcess()
      const sizes = yield* on(
        host,
        Effect.gen(function* () {
          const tty = yield* Tty
          host.size = [100, 30]
          assert.deepStrictEqual(yield* tty.size, { columns: 100, rows: 30 })
          const resized = yield* Effect.fork(Stream.runCollect(Stream.take(tty.resizes, 1)))
          yield* listenedTo(host.stdout, "resize")
          host.size = [40, 10]
          host.stdout.emit("resize")
          return yield* Fiber.join(resized)
        })
      )
      assert.deepStrictEqual([...sizes], [{ columns: 40, rows: 10 }])
    })
  )

  it.effect("gives the terminal back while the process is stopped", () =>
    Effect.gen(function* () {
      const host = new FakeProcess()
      yield* on(
        host,
        Effect.gen(function* () {
          const tty = yield* Tty
          const suspended = yield* Effect.fork(tty.suspend)
          yield* listenedTo(host, "SIGCONT")
          isRestored(host)
          assert.strictEqual(host.done.at(-1), "kill 0 SIGTSTP")
          host.emit("SIGCONT")
          yield* Fiber.join(suspended)
          assert.deepStrictEqual(host.done.slice(-4), ["raw", "utf8", "\x1b[?2004h", "resume"])
        })
      )
    })
  )

  it.effect("outlives a terminal that is gone, and shows on one that nobody types at", () =>
    Effect.gen(function* () {
      const host = new FakeProcess()
      Object.assign(host.stdin, { setRawMode: undefined })
      yield* on(
        host,
        Effect.gen(function* () {
          const tty = yield* Tty
          yield* tty.write("shown")
          assert.isTrue(host.stdout.emit("error", new Error("EIO")))
        })
      )
      assert.include(host.done, "shown")
      assert.notInclude(host.done, "raw")
    })
  )
})
