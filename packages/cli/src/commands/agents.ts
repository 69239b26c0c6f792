/**
 * `afterturn agents`: the subagents of a session.
 *
 * @since 0.1.0
 */
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { AgentNode } from "@afterturn/subagent/SubagentTree"
import { below } from "@afterturn/subagent/SubagentTree"
import * as Effect from "effect/Effect"
import type { Handler } from "../Commands.js"
import { isDriven, lostNote } from "../internal/driven.js"
import { jsonText } from "../internal/json.js"
import { withExistingStore } from "../internal/withStore.js"
import { Output } from "../Output.js"
import * as Render from "../Render.js"
import type { DbOption } from "./sessions.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface AgentsOptions extends DbOption {
  readonly session: SessionId
  /** Also those below them. */
  readonly tree: boolean
}

/**
 * Lists the subagents of a session, in the order in which they were started, as the logs have them.
 *
 * @since 0.1.0
 * @category commands
 */
export const list = ({ db, session, tree }: AgentsOptions): Handler =>
  withExistingStore(
    db,
    Effect.gen(function* () {
      const output = yield* Output
      // Says that there is no such session, rather than that it has no subagents.
      yield* Effect.flatMap(SessionLog, (log) => log.header(session))
      const nodes = yield* below(session)
      if (output.json) {
        return yield* output.line(
          jsonText(
            nodes.map((node) => publicAgent(node, tree)),
            output
          )
        )
      }
      yield* output.line(Render.agents(nodes, tree, output))
      if (nodes.some(({ status }) => status === "running") && !(yield* isDriven(session))) {
        yield* output.note(lostNote(session))
      }
    })
  )

/** An agent as JSON shows it. */
const publicAgent = ({ children, ...agent }: AgentNode, tree: boolean): object => ({
  ...agent,
  job: { ...agent.job, detail: agent.job.detail ?? undefined },
  ...(tree ? { children: children.map((child) => publicAgent(child, tree)) } : {})
})
