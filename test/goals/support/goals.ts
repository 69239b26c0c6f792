import type { Agent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import type { GoalId } from "@afterturn/goals/Goal"
import type { GoalOptions } from "@afterturn/goals/GoalConfig"
import * as GoalConfig from "@afterturn/goals/GoalConfig"
import * as GoalDriver from "@afterturn/goals/GoalDriver"
import { GoalChange } from "@afterturn/goals/GoalEvents"
import * as GoalPrompt from "@afterturn/goals/GoalPrompt"
import * as GoalReferee from "@afterturn/goals/GoalReferee"
import * as Goals from "@afterturn/goals/Goals"
import * as GoalTools from "@afterturn/goals/GoalTools"
import * as GoalWakes from "@afterturn/goals/GoalWakes"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Support from "../../support/agents.js"
import type * as FakeModel from "../../support/FakeModel.js"

export const s1 = "s1" as SessionId

/** A reference to the first goal of a session. */
export const ref = (revision: number, number = 1) => ({ id: `goal-${number}` as GoalId, revision })

export interface Options extends Partial<GoalOptions> {
  readonly judge?: GoalReferee.Judge
  readonly agent?: Parameters<typeof AgentLoop.layerRuntime>[0]
}

/** Goals, driven, over agents on a memory log. */
export const layer = (model: FakeModel.FakeModel, { agent, judge, ...options }: Options = {}) =>
  Layer.mergeAll(GoalDriver.layer, GoalTools.layer, GoalPrompt.layer, GoalWakes.layer).pipe(
    Layer.provideMerge(Goals.layer),
    Layer.provideMerge(
      Layer.merge(
        Layer.orDie(GoalConfig.layer(options)),
        judge === undefined ? GoalReferee.layerNone : GoalReferee.layer(judge)
      )
    ),
    Layer.provideMerge(Support.layer(model.layer, agent))
  )

export const get = (id: SessionId = s1) => Effect.flatMap(Goals.Goals, (goals) => goals.get(id))

/** The goal in a few words: phase, activation, revision, rounds started, and why it is blocked. */
export const standing = (id: SessionId = s1) =>
  Effect.map(get(id), (goal) =>
    goal === undefined
      ? "none"
      : [
          goal.phase,
          goal.activation,
          `r${goal.revision}`,
          `${goal.roundsStarted}/${goal.maxGoalRounds}`,
          ...(goal.blockedReason === undefined ? [] : [goal.blockedReason.code])
        ].join(" ")
  )

/** What opened the turns of a session. */
export const turns = (id: SessionId = s1) =>
  Effect.map(Support.dataOf(id, AgentEvents.TurnStart), (starts) => starts.map(({ source }) => source.kind))

/** The rounds that turns of a session have claimed. */
export const rounds = (id: SessionId = s1) =>
  Effect.map(Support.dataOf(id, AgentEvents.UserMessage), (messages) =>
    messages.flatMap(({ source }) => (source.kind === "goal-round" ? [source.round] : []))
  )

export const operations = (id: SessionId = s1) =>
  Effect.map(Support.dataOf(id, GoalChange), (changes) => changes.map(({ operation }) => operation))

/** The answers of a tool, as the model read them. */
export const answers = (name: string, id: SessionId = s1) =>
  Effect.map(Support.dataOf(id, AgentEvents.ToolResult), (results) =>
    results.filter((result) => result.name === name).map(({ error, text }) => ({ code: error?.code, text }))
  )

export const say = (agent: Agent, text: string) => agent.followup(AgentMessage.user(text))

export const complete = (revision = 1, goal = "goal-1") => ({
  name: "update_goal",
  input: { goal_id: goal, revision, action: "complete" }
})
