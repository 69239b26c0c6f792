import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { notes } from "../../sessionLog.js"
import type { Test } from "./test.js"
import { id } from "./test.js"

export const leasing = (test: Test): void => {
  test("a lease is held by one and given back with its scope", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const leases = yield* SessionLeases
      const header = yield* log.create()
      const epoch = yield* Effect.scoped(
        Effect.gen(function* () {
          const lease = yield* leases.acquire(header.id)
          yield* log.append(header.id, notes("driven"))
          const refused = yield* Effect.flip(Effect.scoped(leases.acquire(header.id)))
          assert.strictEqual(refused._tag, "SessionLeased")
          return lease.epoch
        })
      )
      yield* log.append(header.id, notes("free"))
      const again = yield* leases.acquire(header.id)
      assert.isAbove(again.epoch, epoch)
      assert.strictEqual((yield* Effect.flip(leases.acquire(id("none"))))._tag, "SessionNotFound")
    }))
}
