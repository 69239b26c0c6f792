/**
 * What the log knows of terminals: which ids a session was given. Terminals themselves are no events; they end with their host.
 *
 * @since 0.1.0
 */
import { ToolResult } from "@afterturn/agent/AgentEvents"
import { dataOf } from "@afterturn/agent/AgentLog"
import * as Projection from "@afterturn/session-log/Projection"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

/**
 * The highest number of a terminal that an answer of `terminal_open` showed; 0: none. A fork goes on counting, so that an id in its
 * history never means another terminal.
 *
 * @since 0.1.0
 * @category projections
 */
export const lastNumber: Projection.Projection<number> = Projection.make({
  key: "terminal-numbers",
  version: 1,
  schema: Schema.Number,
  initial: 0,
  types: [ToolResult.type],
  history: "inherited",
  apply: (last, event) => {
    if (event.type !== ToolResult.type) return last
    const result = dataOf(ToolResult, event)
    if (result.name !== "terminal_open" || !result.ok) return last
    const id = Predicate.hasProperty(result.value, "sessionId") ? result.value.sessionId : undefined
    return Math.max(last, numberOf(typeof id === "string" ? id : "") ?? 0)
  }
})

/**
 * The number in the id of a terminal, `term-N`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const numberOf = (id: string): number | undefined => {
  const [, number] = /^term-([1-9]\d{0,14})$/.exec(id) ?? []
  return number === undefined ? undefined : Number(number)
}
