import type { Machine } from "@afterturn/session-log/Host"
import { fromMachine, Host, layer } from "@afterturn/session-log/Host"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const machine = (over: Partial<Machine> = {}): Machine => ({
  host: "ada",
  bootId: "boot-2",
  pidSpace: "pid:1",
  startedAt: (pid) => (pid < 100 ? `t${pid}` : "gone"),
  ...over
})

const holder = (over: object = {}) => ({ host: "ada", bootId: "boot-2", pid: 7, startedAt: "t7@pid:1", ...over })

const isDead = (other: ReturnType<typeof holder>, on: Machine = machine()) =>
  Effect.runSync(fromMachine(on, 1).isDead(other))

describe("a host", () => {
  it("says who it is", () => {
    assert.deepStrictEqual<unknown>(fromMachine(machine(), 7).self, holder())
    const blind = machine({ bootId: undefined, pidSpace: "", startedAt: () => undefined })
    assert.deepStrictEqual<unknown>(fromMachine(blind, 7).self, { host: "ada", bootId: "", pid: 7, startedAt: "" })
  })

  it("knows a process of its machine to be dead when it is gone, or another has its pid", () => {
    assert.isFalse(isDead(holder()))
    assert.isTrue(isDead(holder({ pid: 100, startedAt: "t100@pid:1" })))
    assert.isTrue(isDead(holder({ startedAt: "t3@pid:1" })))
  })

  it("knows every process of an earlier boot to be dead", () => {
    assert.isTrue(isDead(holder({ bootId: "boot-1" })))
    assert.isTrue(isDead(holder({ bootId: "boot-1", startedAt: "" })))
  })

  it("cannot tell about another machine, another pid space, or where it cannot look", () => {
    assert.isFalse(isDead(holder({ host: "bob", bootId: "boot-1", pid: 100 })))
    assert.isFalse(isDead(holder({ pid: 100, startedAt: "t100@pid:2" })))
    assert.isFalse(isDead(holder({ pid: 100, startedAt: "" })))
    assert.isFalse(isDead(holder({ bootId: "" })))
    assert.isFalse(isDead(holder({ bootId: "boot-1" }), machine({ bootId: undefined })))
    assert.isFalse(isDead(holder({ startedAt: "t3@pid:1" }), machine({ startedAt: () => undefined })))
  })

  it.effect("of a fixed identity takes nobody for dead", () =>
    Effect.gen(function* () {
      const host = yield* Host
      assert.deepStrictEqual<unknown>(host.self, holder())
      assert.isFalse(yield* host.isDead(holder({ bootId: "boot-1" })))
    }).pipe(Effect.provide(layer(holder())))
  )
})
