/** What a host that dies leaves in its terminals, and what its successor makes of it. */
import { readdirSync, readFileSync } from "node:fs"
import { Agents } from "@afterturn/agent/Agents"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { dataOf } from "../support/agents.js"
import { bundle, start } from "../support/fixtureProcess.js"
import { folder } from "../support/temporary.js"
import { owner } from "./support/agents.js"
import { layer } from "./support/host.js"

const fixture = new URL("./fixtures/host.ts", import.meta.url)

/** The processes that sleep so many seconds. */
const sleepers = (seconds: number): ReadonlyArray<number> =>
  readdirSync("/proc").flatMap((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1") === `sleep\0${seconds}\0` ? [Number(pid)] : []
    } catch {
      return []
    }
  })

/** How many of each. */
const sleeping = () => [7771, 7772, 7773, 7774].map((seconds) => sleepers(seconds).length)

/** Whatever goes wrong, nothing stays. */
const cleanUp = Effect.addFinalizer(() =>
  Effect.sync(() => {
    for (const pid of [7771, 7772, 7774].flatMap(sleepers)) process.kill(pid, "SIGKILL")
  })
)

const eventually = (what: string, isSo: () => boolean) =>
  Effect.suspend(() => (isSo() ? Effect.void : Effect.fail(`${what} did not come to be`))).pipe(
    Effect.retry({ schedule: Schedule.spaced("20 millis").pipe(Schedule.upTo("10 seconds")) }),
    Effect.orDie
  )

describe("a host that is killed with terminals open", () => {
  it.scopedLive(
    "leaves what ignores that its terminal is gone, which its successor ends, and a job that is settled once",
    () =>
      Effect.gen(function* () {
        const made = yield* folder
        yield* cleanUp
        const stubborn = "(trap '' HUP; setsid sleep 7771 & exec sleep 7772)"
        const host = yield* start(yield* bundle(fixture), made, stubborn, "nohup sleep 7774 >/dev/null & sleep 7773")
        yield* host.heard(1)
        if (host.lines[0] !== "typed") assert.fail(host.lines.join("\n") + (yield* host.end).stderr)
        yield* eventually("all four", () => sleeping().join() === "1,1,1,1")
        yield* host.kill
        yield* eventually("the end of what is hung up", () => sleepers(7773).length === 0)
        assert.deepStrictEqual(sleeping(), [1, 1, 0, 1])
        const ends = Effect.map(dataOf(owner, JobEvents.JobSettle), (all) =>
          all.map(({ detail, id }) => [String(id), detail])
        )
        const settled = [["terminal-1", "lost: the host stopped; its 2 processes were ended"]]
        for (const time of ["first", "second"]) {
          yield* Effect.gen(function* () {
            yield* Effect.flatMap(Agents, (agents) => agents.resume(owner))
            assert.deepStrictEqual(yield* ends, settled, time)
            yield* eventually("the end of what had no job", () => sleepers(7774).length === 0)
          }).pipe(Effect.scoped, Effect.provide(layer(made)))
        }
        assert.deepStrictEqual(sleeping(), [0, 0, 0, 0])
      })
  )
})
