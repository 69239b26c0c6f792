import * as path from "node:path"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Sqlite from "@afterturn/session-log/SessionStore/Sqlite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { everything } from "../../support/contracts/SessionStore.js"
import { bundle, start } from "../../support/fixtureProcess.js"
import { folder as temporaryFolder } from "../../support/temporary.js"

const fixture = new URL("../fixtures/appender.ts", import.meta.url)

const counting = (length: number) => Array.from({ length }, (_, index) => index)

describe("several processes on one file", () => {
  it.scopedLive(
    "make it together, and lose and double no append",
    () =>
      Effect.gen(function* () {
        const filename = path.join(yield* temporaryFolder, "sessions.db")
        const script = yield* bundle(fixture)
        const names = ["a", "b", "c", "d"]
        const running = yield* Effect.forEach(names, (name) => start(script, filename, "s", name, "50"))
        const ends = yield* Effect.all(running.map((each) => each.end))
        assert.deepStrictEqual(
          ends,
          names.map(() => ({ code: 0, stderr: "" }))
        )
        const acknowledged = running.flatMap((each) => each.lines.map(Number))
        assert.deepStrictEqual(
          acknowledged.sort((x, y) => x - y),
          counting(200)
        )
        const events = yield* Effect.flatMap(SessionStore, (store) => store.read("s" as SessionId, everything)).pipe(
          Effect.provide(Sqlite.layer({ filename }))
        )
        assert.deepStrictEqual(
          events.map((event) => event.seq),
          counting(200)
        )
        for (const name of names) {
          const own = events.filter((event) => event.type === name)
          const indices = own.map((event) => (JSON.parse(event.data) as { readonly index: number }).index)
          assert.deepStrictEqual(indices, counting(50))
        }
      }),
    60_000
  )
})
