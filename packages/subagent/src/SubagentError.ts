/**
 * What may go wrong between agents.
 *
 * @since 0.1.0
 */
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"

/**
 * No agent that the caller may reach has this id. A foreign one and one that never was give the same answer.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentNotFound extends Schema.TaggedError<AgentNotFound>("@afterturn/subagent/AgentNotFound")(
  "AgentNotFound",
  { code: Schema.Literal("agent_not_found"), agentId: Schema.String }
) {
  override get message(): string {
    return `there is no agent ${JSON.stringify(this.agentId.slice(0, 200))} that you can reach; list_agents shows your own, and your parent is named in your instructions if you have one`
  }
}

/**
 * The agent is as deep in the tree as it may get. Nothing was started.
 *
 * @since 0.1.0
 * @category errors
 */
export class DepthLimitReached extends Schema.TaggedError<DepthLimitReached>("@afterturn/subagent/DepthLimitReached")(
  "DepthLimitReached",
  { code: Schema.Literal("depth_limit_reached"), depth: Schema.Int, limit: Schema.Int }
) {
  override get message(): string {
    return `you are ${this.depth} levels below the agent that a person talks to, and ${this.limit} is the limit: do the work yourself`
  }
}

/**
 * The agent is there and cannot be used now: another process drives its session, or it is closed.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentUnavailable extends Schema.TaggedError<AgentUnavailable>("@afterturn/subagent/AgentUnavailable")(
  "AgentUnavailable",
  { code: Schema.Literal("agent_unavailable"), agentId: SessionId, reason: Schema.String }
) {
  override get message(): string {
    return `agent ${this.agentId} cannot be used now: ${this.reason}`
  }
}

/**
 * A task or a message that cannot be given: an empty text, or a folder that means nothing.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidTask extends Schema.TaggedError<InvalidTask>("@afterturn/subagent/InvalidTask")("InvalidTask", {
  code: Schema.Literal("invalid_task"),
  reason: Schema.String
}) {
  override get message(): string {
    return `nothing was given to an agent: ${this.reason}`
  }
}
