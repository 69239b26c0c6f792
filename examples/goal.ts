/**
 * A goal carries a session from round to round: each round is a turn that the goal opens by itself, until the agent says that it is
 * reached and the referee agrees.
 */
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as GoalConfig from "@afterturn/goals/GoalConfig"
import * as GoalDriver from "@afterturn/goals/GoalDriver"
import * as GoalPrompt from "@afterturn/goals/GoalPrompt"
import * as GoalReferee from "@afterturn/goals/GoalReferee"
import * as Goals from "@afterturn/goals/Goals"
import * as GoalTools from "@afterturn/goals/GoalTools"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as TimeTravel from "@afterturn/testing/TimeTravel"
import { Console, Effect, Layer } from "effect"

// Over an agent runtime, such as AgentLoop.layerRuntime of @afterturn/agent.
const goals = Layer.mergeAll(GoalDriver.layer, GoalTools.layer, GoalPrompt.layer).pipe(
  Layer.provideMerge(Goals.layer),
  Layer.provideMerge(Layer.merge(GoalConfig.layer({ defaultMaxGoalRounds: 50 }), GoalReferee.layerNone))
)

const model = ScriptedModel.layer({
  rules: [
    {
      on: "user",
      steps: [{ calls: [{ tool: "create_goal", input: { objective: "All tests pass." } }] }, { text: "On it." }]
    },
    { on: "goal-round", steps: [{ text: "Two of three pass now." }] },
    {
      on: "goal-round",
      steps: [
        { calls: [{ tool: "update_goal", input: { goal_id: "goal-1", revision: 1, action: "complete" } }] },
        { text: "All three pass." }
      ]
    }
  ]
})

const runtime = goals.pipe(
  Layer.provideMerge(AgentLoop.layerRuntime()),
  Layer.provideMerge(model),
  Layer.provideMerge(SessionLog.layerMemory)
)

const scenario = TimeTravel.run(runtime, (travel) =>
  Effect.gen(function* () {
    yield* travel.say("Make all tests pass.")
    yield* Console.log(yield* travel.transcript({ maxLength: 80 }))
    const { id } = yield* travel.agent
    const goal = yield* Effect.flatMap(Goals.Goals, (goals) => goals.get(id))
    yield* Console.log(goal)
  })
)

await Effect.runPromise(scenario)

// output:
// turn 1 (user)
//   user: Make all tests pass.
//   call create_goal {"objective":"All tests pass."}
//   goal/change {"version":1,"operation":"create","goal":{"id":"goal-1","revision":1,"objective"… (+152)
//   result create_goal: goal-1 at revision 1: active, 0 of 50 rounds started
//     All tests pass.
//   assistant: On it.
//   end completed
// turn 2 (goal-round 1)
//   goal-round 1: Round 1 of at most 50 for goal-1 at revision 1. It is active since 2026-01-01T00… (+559)
//   assistant: Two of three pass now.
//   end completed
// turn 3 (goal-round 2)
//   goal-round 2: Round 2 of at most 50 for goal-1 at revision 1. It is active since 2026-01-01T00… (+559)
//   call update_goal {"goal_id":"goal-1","revision":1,"action":"complete"}
//   goal/change {"version":1,"operation":"complete","goal":{"id":"goal-1","revision":2,"objectiv… (+156)
//   result update_goal: goal-1 at revision 2: complete, 2 of 50 rounds started
//     All tests pass.
//   assistant: All three pass.
//   end completed
// {
//   id: 'goal-1',
//   revision: 2,
//   objective: 'All tests pass.',
//   phase: 'complete',
//   maxGoalRounds: 50,
//   roundsStarted: 2,
//   createdAt: '2026-01-01T00:00:00.000Z',
//   updatedAt: '2026-01-01T00:00:00.000Z',
//   activation: 'disarmed',
//   usage: { tokens: 834, activeMs: 0 }
// }
