/**
 * Tells a model which reminders it has, as each turn starts.
 *
 * @since 0.1.0
 */
import * as SystemPrompt from "@afterturn/agent/SystemPrompt"
import { Projections } from "@afterturn/session-log/Projection"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RuleText from "./RuleText.js"
import * as ScheduleLog from "./ScheduleLog.js"

/** How many are named: the soonest. `schedule_list` has them all. */
const maxShown = 20

const textOf = (state: ScheduleLog.ScheduleState): string => {
  const total = ScheduleLog.size(state)
  if (total === 0) return ""
  const lines: Array<string> = []
  for (const { id, rule, scheduledAt, title } of ScheduleLog.soonest(state)) {
    lines.push(`- ${id} ${JSON.stringify(title)}: ${RuleText.describe(rule)}; next ${scheduledAt}`)
    if (lines.length === maxShown) break
  }
  const more = total === lines.length ? "" : `\n(${total - lines.length} more, later or paused: schedule_list)`
  return `The reminders of this session as this turn starts, the soonest first:\n${lines.join("\n")}${more}`
}

/**
 * A section behind the other state of the session.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, never, Projections | SystemPrompt.SystemPrompt> = Layer.effectDiscard(
  Effect.gen(function* () {
    const projections = yield* Projections
    const prompt = yield* SystemPrompt.SystemPrompt
    yield* prompt.section({
      key: "reminders",
      order: 960,
      text: (agent) =>
        projections.get(agent.id, ScheduleLog.reminders).pipe(
          Effect.map(({ value }) => textOf(value)),
          // The turn goes on without the section: a session that cannot be read fails where it matters.
          Effect.catchAll((error) => Effect.as(Effect.logWarning("the reminders could not be read", error), ""))
        )
    })
  })
)
