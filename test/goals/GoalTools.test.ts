import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { Goals } from "@afterturn/goals/Goals"
import type * as GoalTools from "@afterturn/goals/GoalTools"
import type { CreateOptions, SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as FakeModel from "../support/FakeModel.js"
import type { Options } from "./support/goals.js"
import { answers, complete, layer, ref, s1, say, standing } from "./support/goals.js"

const call = (name: string, input: object) => ({ calls: [{ name, input }] })
const update = (action: string, more: object = {}) =>
  call("update_goal", { goal_id: "goal-1", revision: 1, action, ...more })

/** Runs in a session, with an agent whose model answers like this. */
const withModel = <A, E>(
  replies: ReadonlyArray<FakeModel.Reply>,
  scenario: Effect.Effect<A, E, Goals | Agents | SessionLog | Scope.Scope>,
  options?: Options
) => scenario.pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies(...replies), options)))

const open = (options?: CreateOptions) => Effect.flatMap(Agents, (agents) => agents.create({ id: s1, ...options }))

/** A goal that no driver touches. */
const resting = Effect.gen(function* () {
  const goals = yield* Goals
  const agent = yield* open()
  yield* agent.runMaintenance(Effect.zipRight(goals.create(s1, { objective: "ship it" }), goals.disarm(s1)))
  return agent
})

describe("create_goal", () => {
  it.effect("sets the goal that the user asks for, and the session goes on by itself", () =>
    withModel(
      [
        call("create_goal", { objective: "ship it", max_goal_rounds: 2 }),
        { text: "ok" },
        { text: "one" },
        { text: "two" }
      ],
      Effect.gen(function* () {
        const agent = yield* open()
        yield* say(agent, "ship it, whatever it takes")
        yield* agent.whenIdle
        const ended = yield* Effect.repeat(Effect.zipRight(Effect.yieldNow(), standing()), {
          until: (now) => !now.startsWith("active")
        })
        const [answer] = yield* answers("create_goal")
        assert.strictEqual(answer?.text, "goal-1 at revision 1: active, 0 of 2 rounds started\nship it")
        assert.strictEqual(ended, "blocked disarmed r2 2/2 round-limit")
      })
    )
  )

  it.effect("is refused where no user speaks: in another source's turn, and to a delegated agent", () =>
    Effect.gen(function* () {
      const refused = (kind: "system" | "user", delegationDepth: number) =>
        withModel(
          [call("create_goal", { objective: "ship it" })],
          Effect.gen(function* () {
            const agent = yield* open({ delegationDepth })
            yield* agent.followup(AgentMessage.text({ kind }, "go"))
            yield* agent.whenIdle
            const [answer] = yield* answers("create_goal")
            assert.strictEqual(answer?.code, "not_authorized")
            assert.include(answer?.text, "this session has no goal")
            assert.strictEqual(yield* standing(), "none")
          })
        )
      yield* refused("system", 0)
      yield* refused("user", 1)
    })
  )

  it.effect("is refused while there is a goal, and the refusal names it and the allowed moves", () =>
    withModel(
      [call("create_goal", { objective: "another" })],
      Effect.gen(function* () {
        const agent = yield* resting
        yield* say(agent, "another goal")
        yield* agent.whenIdle
        const [answer] = yield* answers("create_goal")
        assert.strictEqual(answer?.code, "goal_exists")
        assert.include(answer?.text, 'goal-1 at revision 1 (active): "ship it"; edit, pause, resume, complete or clear')
      })
    )
  )

  it.effect("refuses a cap that is no cap, before the handler", () =>
    withModel(
      [call("create_goal", { objective: "x", max_goal_rounds: 0 })],
      Effect.gen(function* () {
        const agent = yield* open()
        yield* say(agent, "go")
        yield* agent.whenIdle
        assert.strictEqual((yield* answers("create_goal"))[0]?.code, "invalid_arguments")
      })
    )
  )
})

describe("get_goal", () => {
  it.effect("always answers: with the goal, or that there is none, whoever opened the turn", () =>
    withModel(
      [call("get_goal", {}), {}, call("get_goal", {})],
      Effect.gen(function* () {
        const goals = yield* Goals
        const agent = yield* open({ delegationDepth: 1 })
        yield* agent.followup(AgentMessage.text({ kind: "system" }, "look"))
        yield* agent.whenIdle
        yield* agent.runMaintenance(Effect.zipRight(goals.create(s1, { objective: "ship it" }), goals.disarm(s1)))
        yield* agent.followup(AgentMessage.text({ kind: "system" }, "look"))
        yield* agent.whenIdle
        assert.deepStrictEqual(
          (yield* answers("get_goal")).map(({ text }) => text),
          ["there is no goal", "goal-1 at revision 1: active, disarmed, 0 of 256 rounds started\nship it"]
        )
      })
    )
  )

  it.effect("says what is wrong outside an agent", () =>
    Effect.gen(function* () {
      const tools = yield* Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.tools())
      const outcomes = yield* Effect.forEach(tools, (registered) =>
        registered.handle(
          registered.tool.name === "update_goal"
            ? complete().input
            : registered.tool.name === "create_goal"
              ? { objective: "x" }
              : {}
        )
      )
      for (const { isFailure, result } of outcomes) {
        assert.isTrue(isFailure)
        assert.strictEqual((result as GoalTools.GoalToolError).code, "no_owning_session")
      }
    }).pipe(Effect.provide(layer(FakeModel.replies())))
  )
})

describe("update_goal", () => {
  it.effect("edits, pauses and resumes when the user asks for it in this turn", () =>
    withModel(
      [
        update("edit", { objective: "ship it well", max_goal_rounds: 7 }),
        update("pause", { revision: 2 }),
        { calls: [complete(1)] },
        { text: "done" }
      ],
      Effect.gen(function* () {
        const agent = yield* resting
        yield* say(agent, "change it and stop")
        yield* agent.whenIdle
        assert.strictEqual(yield* standing(), "paused disarmed r3 0/7")
        const [edited, , stale] = yield* answers("update_goal")
        assert.include(edited?.text, "ship it well")
        assert.strictEqual(stale?.code, "stale_goal")
        assert.include(stale?.text, "the goal is goal-1 at revision 3 (paused)")
      })
    )
  )

  it.effect("takes a user who steers into a round for one who asks", () => {
    const gate = Deferred.unsafeMake<void>(0 as never)
    const model = FakeModel.make((n) =>
      n === 0 ? { text: "working", first: Deferred.await(gate) } : n === 1 ? update("pause") : { text: "stopped" }
    )
    return Effect.gen(function* () {
      const goals = yield* Goals
      const agent = yield* open()
      yield* goals.create(s1, { objective: "ship it" })
      yield* model.asked(0)
      yield* agent.steer(AgentMessage.user("stop here"))
      yield* Deferred.succeed(gate, undefined)
      yield* model.asked(2)
      yield* agent.whenIdle
      assert.strictEqual(yield* standing(), "paused disarmed r2 1/256")
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })

  it.effect("in a round may complete and, after some rounds, block, and nothing else", () =>
    withModel(
      [
        update("pause"),
        update("edit", { objective: "less" }),
        update("blocked", { blocked_reason: "no key" }),
        { text: "one" },
        { text: "two" },
        update("blocked", { blocked_reason: "no key" })
      ],
      Effect.gen(function* () {
        const goals = yield* Goals
        const agent = yield* open()
        yield* goals.create(s1, { objective: "ship it" })
        yield* Effect.repeatN(Effect.zipRight(Effect.yieldNow(), agent.whenIdle), 100)
        const [pause, edit, early, late] = yield* answers("update_goal")
        assert.strictEqual(pause?.code, "not_authorized")
        assert.include(
          pause?.text,
          "no message of the user, only round 1 at revision 1; the goal is goal-1 at revision 1"
        )
        assert.strictEqual(edit?.code, "not_authorized")
        assert.strictEqual(early?.code, "too_early")
        assert.include(early?.text, "after 3 rounds, and 1 was started")
        assert.isUndefined(late?.code)
        assert.strictEqual(yield* standing(), "blocked disarmed r2 3/256 needs-human")
      })
    )
  )

  it.effect("is refused from a round that is over: the goal has changed since", () => {
    const gate = Deferred.unsafeMake<void>(0 as never)
    const model = FakeModel.make((n) =>
      n === 0
        ? { ...update("complete"), first: Deferred.await(gate) }
        : n === 1
          ? { calls: [complete(2)] }
          : n === 2
            ? { text: "hm" }
            : { calls: [complete(2)] }
    )
    return Effect.gen(function* () {
      const goals = yield* Goals
      const agent = yield* open()
      yield* goals.create(s1, { objective: "ship it" })
      yield* model.asked(0)
      yield* goals.edit(s1, ref(1), { objective: "ship more" })
      yield* Deferred.succeed(gate, undefined)
      yield* model.asked(3)
      yield* Effect.repeatN(Effect.zipRight(Effect.yieldNow(), agent.whenIdle), 50)
      const [stale, over, next] = yield* answers("update_goal")
      assert.strictEqual(stale?.code, "stale_goal")
      assert.include(stale?.text, "goal-1 at revision 2 (active)")
      assert.strictEqual(over?.code, "not_authorized")
      assert.include(over?.text, "round 1 at revision 1 is over")
      assert.include(over?.text, "goal-1 at revision 2 (active)")
      // The next round is of the present state.
      assert.isUndefined(next?.code)
      assert.strictEqual(yield* standing(), "complete disarmed r3 2/256")
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })

  it.effect("cannot complete from a turn that a notice opened", () =>
    withModel(
      [{ calls: [complete()] }],
      Effect.gen(function* () {
        const agent = yield* resting
        yield* agent.followup(AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "ended"))
        yield* agent.whenIdle
        assert.strictEqual((yield* answers("update_goal"))[0]?.code, "not_authorized")
      })
    )
  )

  it.effect("refuses fields that belong to another action, and says where the goal stands", () => {
    const wrong = [
      ["complete", { objective: "x" }, "objective belongs"],
      ["pause", { max_goal_rounds: 3 }, "max_goal_rounds belongs"],
      ["resume", { blocked_reason: "x" }, "blocked_reason belongs"],
      ["blocked", {}, "needs a blocked_reason"],
      ["blocked", { blocked_reason: " " }, "needs a blocked_reason"],
      ["edit", {}, "needs an objective or max_goal_rounds"]
    ] as const
    return withModel(
      wrong.map(([action, more]) => update(action, more)),
      Effect.gen(function* () {
        const agent = yield* resting
        yield* say(agent, "try")
        yield* agent.whenIdle
        const refusals = yield* answers("update_goal")
        assert.strictEqual(refusals.length, wrong.length)
        for (const [index, [, , text]] of wrong.entries()) {
          assert.strictEqual(refusals[index]?.code, "invalid_goal")
          assert.include(refusals[index]?.text, text)
          assert.include(refusals[index]?.text, "the goal is goal-1 at revision 1 (active)")
        }
      })
    )
  })

  it.effect("says that there is no goal, or which one was cleared", () =>
    withModel(
      [{ calls: [complete()] }, {}, { calls: [complete()] }],
      Effect.gen(function* () {
        const goals = yield* Goals
        const agent = yield* open()
        yield* say(agent, "done?")
        yield* agent.whenIdle
        yield* agent.runMaintenance(
          Effect.zipRight(
            goals.create(s1, { objective: "o" }),
            Effect.zipRight(goals.disarm(s1), goals.clear(s1, ref(1)))
          )
        )
        yield* say(agent, "done?")
        yield* agent.whenIdle
        const [never, cleared] = yield* answers("update_goal")
        assert.deepStrictEqual([never?.code, cleared?.code], ["no_goal", "no_goal"])
        assert.include(cleared?.text, "goal-1 was cleared at revision 2")
      })
    )
  )

  it.effect("tells the model why a completion was refused, and the goal goes on", () => {
    let asked = 0
    return withModel(
      [{ calls: [complete()] }, { text: "I look again" }, { calls: [complete()] }],
      Effect.gen(function* () {
        const goals = yield* Goals
        const agent = yield* open()
        yield* goals.create(s1, { objective: "ship it" })
        yield* Effect.repeatN(Effect.zipRight(Effect.yieldNow(), agent.whenIdle), 60)
        const [refused, agreed] = yield* answers("update_goal")
        assert.strictEqual(refused?.code, "completion_refused")
        assert.include(refused?.text, "2 tests fail")
        assert.isUndefined(agreed?.code)
        assert.strictEqual(yield* standing(), "complete disarmed r2 2/256")
      }),
      { judge: () => Effect.sync(() => (asked++ > 0 ? { agrees: true } : { agrees: false, reason: "2 tests fail" })) }
    )
  })
})

describe("the toolkit", () => {
  it.effect("says in its note what the calls need", () =>
    Effect.gen(function* () {
      const tools = yield* Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.tools())
      assert.deepStrictEqual(
        tools.map(({ tool }) => tool.name),
        ["create_goal", "get_goal", "update_goal"]
      )
      assert.include(tools[0]?.info.note, "after 5 rounds")
      assert.deepStrictEqual(tools[0]?.info.writes, ["goal/change"])
    }).pipe(Effect.provide(layer(FakeModel.replies(), { minRoundsBeforeBlocked: 5 })))
  )
})
