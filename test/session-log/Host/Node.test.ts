import * as ChildProcess from "node:child_process"
import * as os from "node:os"
import { fromMachine, Host } from "@afterturn/session-log/Host"
import { layer, machine } from "@afterturn/session-log/Host/Node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

/** A child that runs until it is told to end; its host as this machine sees it. */
const child = Effect.acquireRelease(
  Effect.async<ChildProcess.ChildProcess>((resume) => {
    const started = ChildProcess.spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)"], {
      stdio: ["ignore", "pipe", "ignore"]
    })
    started.stdout?.once("data", () => resume(Effect.succeed(started)))
  }),
  (started) => Effect.sync(() => started.kill("SIGKILL"))
)

const ended = (of: ChildProcess.ChildProcess) =>
  Effect.async<void>((resume) => {
    of.once("exit", () => resume(Effect.void))
    of.kill("SIGKILL")
  })

describe("the host of a Node process", () => {
  it.scopedLive("is this process, which lives", () =>
    Effect.gen(function* () {
      const host = yield* Host
      assert.deepInclude(host.self, { host: os.hostname(), pid: process.pid })
      assert.isFalse(yield* host.isDead(host.self))
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("tells a child that runs from one that was killed", () =>
    Effect.gen(function* () {
      if (process.platform !== "linux" && process.platform !== "darwin") return
      const host = yield* Host
      const started = yield* child
      const its = fromMachine(machine(process.platform), started.pid!).self
      assert.notStrictEqual(its.startedAt, "")
      assert.isFalse(yield* host.isDead(its))
      assert.isTrue(yield* host.isDead({ ...its, startedAt: host.self.startedAt }))
      yield* ended(started)
      assert.isTrue(yield* host.isDead(its))
    }).pipe(Effect.provide(layer))
  )

  it("takes nobody for dead on a platform that it does not know", () => {
    const host = fromMachine(machine("win32"), process.pid)
    assert.strictEqual(host.self.bootId, "")
    assert.isFalse(Effect.runSync(host.isDead({ ...host.self, bootId: "boot", pid: 2 ** 22 + 1 })))
  })
})
