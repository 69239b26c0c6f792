import * as fs from "node:fs"
import * as path from "node:path"
import { outputFolder, spoolLayer } from "@afterturn/cli/Compose/Jobs"
import { JobId } from "@afterturn/jobs/Job"
import { JobSpool } from "@afterturn/jobs/JobSpool"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { workplace } from "../../support/afterturn.js"

const key = { owner: SessionId.make("s1"), id: JobId.make("bash-1") }

const location = (db: string) =>
  Effect.map(JobSpool, (spool) => spool.location(key)).pipe(
    Effect.provide(spoolLayer(db)),
    Effect.provide(NodeContext.layer)
  )

const eventLoopTurn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

describe("the output of jobs", () => {
  it.live("is kept beside the database, wherever the command runs", () =>
    Effect.gen(function* () {
      const { db, folder } = yield* workplace
      assert.strictEqual(yield* outputFolder(db), `${db}.jobs`)
      assert.strictEqual(yield* outputFolder("x.db"), path.join(process.cwd(), "x.db.jobs"))
      assert.strictEqual(path.dirname(path.dirname((yield* location(db)) ?? "")), `${db}.jobs`)
      // Nothing is made by looking.
      assert.deepStrictEqual(fs.readdirSync(folder), ["script.json"])
    }).pipe(Effect.scoped, Effect.provide(NodeContext.layer))
  )

  it.live("is kept on the machine's own disk with a database on a server", () =>
    Effect.gen(function* () {
      const db = "postgres://me:hidden@host:5433/sessions?x=hidden"
      assert.strictEqual(yield* outputFolder(db), "/data/afterturn/me-host-5433-sessions.jobs")
    }).pipe(
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["XDG_DATA_HOME", "/data"]]))),
      Effect.provide(NodeContext.layer)
    )
  )

  it.live("is kept in memory with a database in memory", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* outputFolder(":memory:"))
      assert.isUndefined(yield* location(":memory:"))
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.live("is removed when it is old by who drives sessions, not by who only looks", () =>
    Effect.gen(function* () {
      const { db } = yield* workplace
      const write = Effect.flatMap(JobSpool, (spool) => spool.append(key, new TextEncoder().encode("old")))
      const size = Effect.flatMap(JobSpool, (spool) => spool.size(key))
      const using = <A, E>(effect: Effect.Effect<A, E, JobSpool>, keepsAll: boolean) =>
        effect.pipe(Effect.provide(spoolLayer(db, { keepsAll })), Effect.provide(NodeContext.layer))
      const folder = (yield* location(db)) ?? ""
      yield* using(write, true)
      const longAgo = new Date("2001-01-01")
      for (const name of fs.readdirSync(folder)) fs.utimesSync(path.join(folder, name), longAgo, longAgo)
      const settle = Effect.zipRight(Effect.repeatN(eventLoopTurn, 200), size)
      assert.strictEqual((yield* using(settle, true))?.size, 3)
      const gone = Effect.repeat(Effect.zipRight(eventLoopTurn, size), { until: (found) => found === undefined })
      assert.isUndefined(yield* using(gone, false))
    }).pipe(Effect.scoped)
  )
})
