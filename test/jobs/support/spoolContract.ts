import type { JobId } from "@afterturn/jobs/Job"
import type { SpoolKey } from "@afterturn/jobs/JobSpool"
import { JobSpool } from "@afterturn/jobs/JobSpool"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import type * as Layer from "effect/Layer"

export const key = (id = "bash-1", owner: string | undefined = "s1"): SpoolKey => ({
  owner: owner as SessionId | undefined,
  id: id as JobId
})

const unowned: SpoolKey = { owner: undefined, id: "host-bash-1" as JobId }

export const bytes = (text: string) => new TextEncoder().encode(text)
export const text = (page: { readonly bytes: Uint8Array } | undefined) =>
  page === undefined ? undefined : new TextDecoder("utf-8", { fatal: true }).decode(page.bytes)

/** What every implementation of the port does; `layer` keeps `maxSpoolBytes` of each job. */
export const spoolContract = <E>(
  name: string,
  layer: (maxSpoolBytes: number) => Layer.Layer<JobSpool, E>,
  numRuns: number
): void => {
  describe(name, () => {
    it.scoped("gives back what was appended, from any offset", () =>
      Effect.gen(function* () {
        const spool = yield* JobSpool
        assert.strictEqual(yield* spool.append(key(), bytes("hello ")), 6)
        assert.strictEqual(yield* spool.append(key(), bytes("wörld")), 12)
        assert.strictEqual(text(yield* spool.read(key(), 0, 100)), "hello wörld")
        assert.strictEqual(text(yield* spool.read(key(), 6, 3)), "wö")
        assert.deepStrictEqual(yield* spool.read(key(), 12, 100), { offset: 12, bytes: new Uint8Array(0) })
        assert.deepStrictEqual(yield* spool.read(key(), 99, 100), { offset: 99, bytes: new Uint8Array(0) })
        assert.deepStrictEqual(yield* spool.size(key()), { size: 12, finalFrom: undefined })
      }).pipe(Effect.provide(layer(1000)))
    )

    it.scoped("knows nothing of a job that wrote nothing", () =>
      Effect.gen(function* () {
        const spool = yield* JobSpool
        yield* spool.end(key())
        assert.isUndefined(yield* spool.read(key(), 0, 100))
        assert.isUndefined(yield* spool.size(key()))
      }).pipe(Effect.provide(layer(1000)))
    )

    it.scoped("keeps jobs apart, also of the same id", () =>
      Effect.gen(function* () {
        const spool = yield* JobSpool
        yield* spool.append(key("bash-1", "s1"), bytes("one"))
        yield* spool.append(key("bash-1", "s2"), bytes("two"))
        yield* spool.append(key("bash-11", "s1"), bytes("eleven"))
        yield* spool.append(unowned, bytes("nobody"))
        yield* spool.remove("s1" as SessionId)
        assert.isUndefined(yield* spool.read(key("bash-1", "s1"), 0, 100))
        assert.isUndefined(yield* spool.read(key("bash-11", "s1"), 0, 100))
        assert.strictEqual(text(yield* spool.read(key("bash-1", "s2"), 0, 100)), "two")
        yield* spool.remove("s1" as SessionId)
        assert.strictEqual(text(yield* spool.read(unowned, 0, 100)), "nobody")
      }).pipe(Effect.provide(layer(1000)))
    )

    it.scoped("remembers where the final output begins, also after the end", () =>
      Effect.gen(function* () {
        const spool = yield* JobSpool
        yield* spool.append(key(), bytes("progress"))
        yield* spool.append(key(), bytes("the report"), { final: true })
        yield* spool.end(key())
        assert.deepStrictEqual(yield* spool.size(key()), { size: 18, finalFrom: 8 })
        assert.strictEqual(text(yield* spool.read(key(), 8, 100)), "the report")
        assert.strictEqual(text(yield* spool.read(key(), 0, 100)), "progressthe report")
      }).pipe(Effect.provide(layer(1000)))
    )

    it.scoped("drops the oldest beyond its size, and begins with a whole character", () =>
      Effect.gen(function* () {
        const spool = yield* JobSpool
        for (let index = 0; index < 100; index++) yield* spool.append(key(), bytes("äöü"))
        const page = yield* spool.read(key(), 0, 1000)
        assert.isAtMost(page!.bytes.length, 64)
        assert.isAtLeast(page!.bytes.length, 40)
        assert.strictEqual(page!.offset + page!.bytes.length, 600)
        assert.match(text(page)!, /^[äöü]+$/)
      }).pipe(Effect.provide(layer(64)))
    )

    it.scoped("keeps the end of one append that is larger than all it may keep", () =>
      Effect.gen(function* () {
        const spool = yield* JobSpool
        assert.strictEqual(yield* spool.append(key(), bytes("€".repeat(100))), 300)
        const page = yield* spool.read(key(), 0, 1000)
        assert.isAtMost(page!.bytes.length, 64)
        assert.strictEqual(page!.offset + page!.bytes.length, 300)
        assert.match(text(page)!, /^€+$/)
      }).pipe(Effect.provide(layer(64)))
    )

    it.scoped("keeps the order of calls that are made at once", () =>
      Effect.gen(function* () {
        const spool = yield* JobSpool
        const parts = Array.from({ length: 50 }, (_, index) => `${index},`)
        yield* Effect.forEach(parts, (part) => spool.append(key(), bytes(part)), { concurrency: "unbounded" })
        assert.strictEqual(text(yield* spool.read(key(), 0, 1000)), parts.join(""))
      }).pipe(Effect.provide(layer(1000)))
    )

    const writes = fc.array(fc.fullUnicodeString({ maxLength: 30 }), { minLength: 1, maxLength: 20 })
    it.effect.prop(
      "shows some tail of what was written, whole characters, at its own offset",
      [writes, fc.integer({ min: 16, max: 200 }), fc.nat(300), fc.integer({ min: 1, max: 300 })],
      ([parts, maxBytes, from, limit]) =>
        Effect.gen(function* () {
          const spool = yield* JobSpool
          yield* Effect.forEach(parts, (part) => spool.append(key(), bytes(part)))
          const all = bytes(parts.join(""))
          if (all.length === 0) return
          const page = (yield* spool.read(key(), from, limit))!
          assert.deepStrictEqual(
            Buffer.from(page.bytes),
            Buffer.from(all.slice(page.offset, page.offset + page.bytes.length))
          )
          const kept = (yield* spool.read(key(), 0, 10_000))!
          assert.strictEqual(kept.offset + kept.bytes.length, all.length)
          assert.isAtMost(kept.bytes.length, maxBytes)
          assert.strictEqual(page.offset, Math.max(from, kept.offset))
          text(kept)
        }).pipe(Effect.scoped, Effect.provide(layer(maxBytes))),
      { fastCheck: { numRuns } }
    )
  })
}
