/**
 * The events by which a later host finds what a dead one left of its terminals.
 *
 * @since 0.1.0
 */
import { JobProcess } from "@afterturn/jobs/Job"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Schema from "effect/Schema"

/**
 * A terminal is open; `process` is what tells its processes from all others.
 *
 * @since 0.1.0
 * @category events
 */
export const TerminalOpen = EventTypes.make(
  "terminal/open",
  Schema.Struct({ id: Schema.String, process: JobProcess }),
  { ignorable: true }
)

/**
 * Nothing of a terminal is left.
 *
 * @since 0.1.0
 * @category events
 */
export const TerminalClose = EventTypes.make("terminal/close", Schema.Struct({ id: Schema.String }), {
  ignorable: true
})
