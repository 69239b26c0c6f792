import * as AgentLoop from "@afterturn/agent/AgentLoop"
import type { Agents } from "@afterturn/agent/Agents"
import * as Simulation from "@afterturn/testing/Simulation"
import type { Scenario } from "@afterturn/testing/SimulationScenario"
import type { SimulationStep } from "@afterturn/testing/SimulationStep"
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { assert } from "vitest"

/** Agents without any capability. */
const plain: Scenario<Agents> = {
  name: "plain",
  world: Effect.succeed({ host: () => AgentLoop.layerRuntime({ timeZone: "UTC" }) }),
  start: () => "2026-01-01T09:00:00.000Z",
  say: (dice) => [{ calls: [{ tool: "no_such_tool", input: {} }] }, { text: `${dice.below(100)}` }]
}

const eventsOf = ({ evidence }: Simulation.Outcome) => evidence.sessions.map(({ events }) => events)

const say = (text: string): SimulationStep => ({ do: "say", host: "a", session: "s1", replies: [{ text }] })

const up: ReadonlyArray<SimulationStep> = [{ do: "boot", host: "a" }]

describe("Simulation", () => {
  it.live("plays the same run again from its seed, and another one from another", () =>
    Effect.gen(function* () {
      const one = yield* Simulation.run(plain, { seed: 3 })
      const again = yield* Simulation.run(plain, { seed: 3 })
      const other = yield* Simulation.run(plain, { seed: 4 })
      assert.deepStrictEqual(one.findings, [])
      assert.deepStrictEqual(eventsOf(again), eventsOf(one))
      assert.notDeepEqual(other.steps, one.steps)
    })
  )

  it.live("plays steps of one's own, and what they do is in the log", () =>
    Effect.gen(function* () {
      const { coverage, evidence, findings } = yield* Simulation.run(plain, {
        seed: 1,
        steps: [
          ...up,
          say("one"),
          { do: "crash", host: "a", writes: 1, when: "after" },
          say("two"),
          { do: "boot", host: "a" },
          { do: "wait", seconds: 700 },
          { do: "fork", host: "a", session: "s1", as: "twig" },
          { do: "fault", host: "a", fault: "busy", operations: 2, reads: false },
          say("three")
        ]
      })
      assert.deepStrictEqual(findings, [])
      assert.deepStrictEqual(
        evidence.sessions.map(({ id, parent }) => [id, parent]),
        [
          ["twig", "s1"],
          ["s1", null]
        ]
      )
      assert.deepInclude(coverage.store, { busy: 1 })
      assert.strictEqual(
        Object.values(coverage.crash ?? {}).reduce((sum, times) => sum + times),
        1
      )
      const said = evidence.sessions.flatMap(({ events, id }) =>
        id === "s1" ? events.filter(({ type }) => type === "assistant/message") : []
      )
      assert.isTrue(said.some(({ data }) => data.content[0].text === "two"))
    })
  )

  it.live("shortens a run to what it takes to break a promise", () =>
    Effect.gen(function* () {
      const quiet: Scenario<Agents> = {
        ...plain,
        checks: {
          quiet: ({ sessions }) =>
            sessions
              .filter(({ events }) => events.some(({ data }) => JSON.stringify(data).includes("loud")))
              .map(({ id }) => ({ session: id, problem: "it is loud" }))
        }
      }
      const noise = Array.from({ length: 3 }, (_, index) => say(`word ${index}`))
      const outcome = yield* Simulation.run(quiet, { seed: 5, steps: [...up, ...noise, say("loud"), ...noise] })
      const short = yield* Simulation.shrink(quiet, outcome)
      assert.deepStrictEqual(short.steps, [...up, say("loud")])
      assert.include(Simulation.toText(short), "quiet: session s1: it is loud")
    })
  )

  it.live("finds what is left behind", () =>
    Effect.gen(function* () {
      const leaving: Scenario<Agents> = {
        ...plain,
        world: Effect.map(plain.world, (world) => ({ ...world, leftovers: Effect.succeed(["a lamp"]) }))
      }
      const { findings } = yield* Simulation.run(leaving, { seed: 1, steps: up })
      assert.deepStrictEqual(findings, [{ check: "leftovers", session: "-", problem: "left behind: a lamp" }])
    })
  )

  it.live("finds a fiber that outlives its host", () =>
    Effect.gen(function* () {
      const leak = Layer.effectDiscard(Effect.forkDaemon(Effect.never))
      const leaking: Scenario<Agents> = {
        ...plain,
        world: Effect.succeed({ host: () => Layer.merge(AgentLoop.layerRuntime({ timeZone: "UTC" }), leak) })
      }
      const { findings } = yield* Simulation.run(leaking, { seed: 1, steps: up })
      assert.deepStrictEqual(
        findings.map(({ problem }) => problem),
        ["left behind: 1 fibers of a (1)"]
      )
    })
  )

  it("adds up what runs have met", () => {
    const sum = Simulation.addCoverage({ crash: { "at rest": 1 } }, { crash: { "at rest": 2 }, store: { busy: 1 } })
    assert.deepStrictEqual(sum, { crash: { "at rest": 3 }, store: { busy: 1 } })
  })
})
