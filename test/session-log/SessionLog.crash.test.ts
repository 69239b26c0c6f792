import * as path from "node:path"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import { verify } from "@afterturn/session-log/SessionVerify"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { bundle, start } from "../support/fixtureProcess.js"
import type { Added } from "../support/sessionLog.js"
import { added, events, seqsOf, types } from "../support/sessionLog.js"
import { folder } from "../support/temporary.js"

const writer = new URL("./fixtures/writer.ts", import.meta.url)
const session = "s-1" as SessionId

const total = Projection.make({
  key: "test/total",
  version: 1,
  schema: Schema.Number,
  initial: 0,
  apply: (sum, event) => sum + (event.data as { amount: number }).amount
})

const opened = (filename: string) => Layer.provideMerge(types, layerSqlite({ filename }))

const prepared = Effect.gen(function* () {
  const script = yield* bundle(writer)
  const filename = path.join(yield* folder, "sessions.db")
  yield* Effect.provide(
    Effect.flatMap(SessionLog, (log) => log.create({ id: session })),
    opened(filename)
  )
  return { filename, script }
})

const upTo = (count: number) => Array.from({ length: count }, (_, seq) => seq)

describe("a process that is killed while it appends", () => {
  it.scopedLive(
    "leaves a log without a gap that holds all that was acknowledged, and that goes on at once",
    () =>
      Effect.gen(function* () {
        const { filename, script } = yield* prepared
        for (let round = 0; round < 10; round++) {
          const running = yield* start(script, "drive", filename, session)
          const from = running.lines.length
          yield* running.heard(from + (yield* Random.nextIntBetween(1, 60)))
          yield* running.kill
          const acknowledged = running.lines.map((line) => line.split(" ").map(Number))
          assert.isAbove(acknowledged.length, 0, (yield* running.end).stderr)
          yield* Effect.scoped(
            Effect.gen(function* () {
              const log = yield* SessionLog
              const stored = yield* events(session)
              assert.deepStrictEqual(seqsOf(stored), upTo(stored.length))
              for (const [first, last] of acknowledged) {
                assert.isAtMost(last!, stored.length - 1)
                if (last! > first!) {
                  const data = stored
                    .slice(first, last! + 1)
                    .map((event) => (event.data as typeof Added.schema.Type).amount)
                  assert.deepStrictEqual(data, [1, 2, 3])
                }
              }
              // The killed holder is provably dead: its lease does not have to expire.
              yield* Effect.flatMap(SessionLeases, (leases) => leases.acquire(session))
              const [next] = yield* log.append(session, added(1))
              assert.strictEqual(next!.seq, stored.length)
              assert.isNull(yield* verify(session, { projections: [total] }))
            })
          ).pipe(Effect.provide(opened(filename)))
        }
      }),
    90_000
  )
})

describe("two processes on one session", () => {
  it.scopedLive(
    "that both write without a lease give every append a seq of its own, without a gap",
    () =>
      Effect.gen(function* () {
        const { filename, script } = yield* prepared
        const both = [
          yield* start(script, "write", filename, session, "200"),
          yield* start(script, "write", filename, session, "200")
        ]
        for (const running of both) assert.deepStrictEqual(yield* running.end, { code: 0, stderr: "" })
        const acknowledged = both.flatMap((running) => running.lines.map((line) => Number(line.split(" ")[0])))
        assert.deepStrictEqual(
          acknowledged.sort((a, b) => a - b),
          upTo(400)
        )
        const stored = yield* Effect.provide(events(session), opened(filename))
        assert.deepStrictEqual(seqsOf(stored), upTo(400))
        assert.isNull(yield* Effect.provide(verify(session), opened(filename)))
      }),
    60_000
  )

  it.scopedLive(
    "of which one drives keep the other out, which names it",
    () =>
      Effect.gen(function* () {
        const { filename, script } = yield* prepared
        const driver = yield* start(script, "drive", filename, session)
        yield* driver.heard(1)
        for (const mode of [["drive"], ["write"]] as const) {
          const other = yield* start(script, mode[0], filename, session, "1")
          const { code, stderr } = yield* other.end
          assert.strictEqual(code, 1)
          assert.match(stderr, /session "s-1" is driven by process \d+ on /)
          assert.deepStrictEqual(other.lines, [])
        }
        const heard = driver.lines.length
        yield* driver.heard(heard + 5)
        assert.isAtLeast(driver.lines.length, heard + 5)
      }),
    60_000
  )
})
