import { PassThrough, Writable } from "node:stream"
import { Output } from "@afterturn/cli/Output"
import * as NodeOutput from "@afterturn/cli/Output/Node"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

const on = <A, E>(
  options: {
    readonly stdout?: NodeOutput.Sink
    readonly stderr?: NodeOutput.Sink
    readonly env?: Record<string, string>
  },
  body: (output: (typeof Output)["Service"]) => Effect.Effect<A, E>
) =>
  Effect.flatMap(Output, body).pipe(
    Effect.provide(
      NodeOutput.layerStreams({
        json: false,
        stdout: options.stdout ?? new PassThrough(),
        stderr: options.stderr ?? new PassThrough()
      })
    ),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(options.env ?? {}))))
  )

const terminal = () => Object.assign(new PassThrough(), { isTTY: true, columns: 90 })

const look = ({ colour, columns, terminal }: (typeof Output)["Service"]) =>
  Effect.succeed({ colour, columns, terminal })

describe("Output on streams", () => {
  it.effect("writes results to the one and notes to the other", () =>
    Effect.gen(function* () {
      const stdout = new PassThrough()
      const stderr = new PassThrough()
      yield* on({ stdout, stderr }, (output) =>
        Effect.all([output.write("a"), output.line("b"), output.note("c")], { discard: true })
      )
      assert.strictEqual(String(stdout.read()), "ab\n")
      assert.strictEqual(String(stderr.read()), "c\n")
    })
  )

  it.effect("knows a terminal from a pipe, and who wants no colours", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* on({}, look), { colour: false, columns: Infinity, terminal: false })
      const plain = { colour: false, columns: 90, terminal: true }
      assert.deepStrictEqual(yield* on({ stdout: terminal() }, look), { ...plain, colour: true })
      assert.deepStrictEqual(yield* on({ stdout: terminal(), env: { NO_COLOR: "" } }, look), { ...plain, colour: true })
      assert.deepStrictEqual(yield* on({ stdout: terminal(), env: { NO_COLOR: "1" } }, look), plain)
      assert.deepStrictEqual(yield* on({ stdout: terminal(), env: { TERM: "dumb" } }, look), plain)
    })
  )

  it.effect("is done with a write when the stream is", () =>
    Effect.gen(function* () {
      let taken: (() => void) | undefined
      const slow = new Writable({
        write: (_chunk, _encoding, done) => {
          taken = () => done()
        }
      })
      yield* on({ stdout: slow }, (output) =>
        Effect.gen(function* () {
          const writing = yield* Effect.fork(output.line("x"))
          yield* Effect.yieldNow()
          assert.strictEqual((yield* Fiber.poll(writing))._tag, "None")
          taken?.()
          assert.isTrue(Exit.isSuccess(yield* Fiber.await(writing)))
        })
      )
    })
  )

  it.effect("fails a write that nobody reads, and survives the stream's own error", () =>
    Effect.gen(function* () {
      const broken = () =>
        new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error("EPIPE"), { code: "EPIPE" })) })
      const failed = yield* on({ stdout: broken(), stderr: broken() }, (output) =>
        Effect.zipRight(output.note("lost"), Effect.flip(output.line("x")))
      )
      assert.strictEqual(failed._tag, "StdoutClosed")
    })
  )
})
