import * as Agents from "@afterturn/agent/Agents"
import { JobId } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { Projections } from "@afterturn/session-log/Projection"
import type { EventInput } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { TerminalClose, TerminalOpen } from "@afterturn/terminal/TerminalEvents"
import * as TerminalLog from "@afterturn/terminal/TerminalLog"
import { Terminals } from "@afterturn/terminal/Terminals"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { dataOf } from "../support/agents.js"
import { finished, layer, newAgent, owner } from "./support/agents.js"
import * as Fake from "./support/fake.js"

const processOf = (mark: string) => ({ pid: 1, group: 1, startedAt: mark, bootId: "boot" })
const opened = (id: string) => TerminalOpen.make({ id, process: processOf(`mark of ${id}`) })
const closed = (id: string) => TerminalClose.make({ id })

const jobId = JobId.make("terminal-1")
const job = (id: string) =>
  JobEvents.JobStart.make({ id: jobId, kind: "terminal", label: "make", process: processOf(`mark of ${id}`) })

/** A session as a host that died left it. */
const left = (...events: ReadonlyArray<EventInput>) =>
  Effect.gen(function* () {
    yield* Effect.scoped(newAgent())
    yield* Effect.flatMap(SessionLog, (log) => log.append(owner, events))
  })

const unclosed = Effect.flatMap(Projections, (projections) => projections.get(owner, TerminalLog.unclosed))

describe("the ids of terminals", () => {
  it.effect("go on where the log ends, and an earlier run's are said to be gone", () =>
    Effect.gen(function* () {
      yield* left(opened("term-2"), opened("term-1"), closed("term-2"))
      const agents = yield* Agents.Agents
      yield* agents.resume(owner)
      const terminals = yield* Terminals
      const opening = yield* Effect.fork(terminals.open(owner, { type: "shell", cwd: "/tmp" }))
      assert.strictEqual((yield* finished(opening)).id, "term-3")
      const gone = yield* Effect.flip(terminals.read(owner, "term-2"))
      assert.deepInclude(gone, { ended: true })
      assert.include(gone.message, "ended with the host")
      assert.deepInclude(yield* Effect.flip(terminals.read(owner, "term-9")), { ended: false })
    }).pipe(Effect.scoped, Effect.provide(layer(Fake.make().layer)))
  )
})

describe("terminals that nobody has closed", () => {
  it.effect(
    "are those that were opened, less those that were closed; where a job runs, the job tells of the rest",
    () =>
      Effect.gen(function* () {
        yield* left(opened("term-1"), opened("term-2"), opened("term-3"), closed("term-1"), job("term-3"))
        const { value } = yield* unclosed
        assert.deepStrictEqual(Object.keys(value.terminals), ["term-2", "term-3"])
        assert.deepStrictEqual(TerminalLog.withoutJob(value), [processOf("mark of term-2")])
      }).pipe(Effect.provide(layer(Fake.make().layer)))
  )

  it.effect("are ended by the next host, once, and its own are left alone", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      yield* left(opened("term-1"), opened("term-2"), job("term-2"))
      const agents = yield* Agents.Agents
      const found: Array<ReadonlyArray<string>> = []
      for (let host = 0; host < 2; host++) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* agents.resume(owner)
            const terminals = yield* Terminals
            yield* finished(yield* Effect.fork(terminals.open(owner, { type: "shell", cwd: "/tmp" })))
            yield* finished(yield* Effect.fork(Effect.yieldNow()))
          })
        )
        // One whose job is recovered before is looked for twice: the second time nothing of it is there.
        found.push([...new Set(backend.reaped.splice(0).map(({ startedAt }) => startedAt))].sort())
      }
      assert.deepStrictEqual(found, [["mark of term-1", "mark of term-2"], []])
      const ends = (yield* dataOf(owner, TerminalClose)).map(({ id }) => id).sort()
      assert.deepStrictEqual(ends, ["term-1", "term-2", "term-3", "term-4"])
    }).pipe(Effect.provide(layer(backend.layer)))
  })
})

describe("a number", () => {
  it("is only in an id", () => {
    assert.strictEqual(TerminalLog.numberOf("term-12"), 12)
    for (const id of ["term-0", "term-01", "terminal-1", "term-1 ", ""]) assert.isUndefined(TerminalLog.numberOf(id))
  })
})
