/**
 * What the command decides about terminals: those of this machine, as the defaults have them.
 *
 * @since 0.1.0
 */
import type { AgentExtensions } from "@afterturn/agent/Agents"
import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Pty from "@afterturn/terminal/TerminalBackend/Pty"
import * as TerminalConfig from "@afterturn/terminal/TerminalConfig"
import * as Terminals from "@afterturn/terminal/Terminals"
import * as Layer from "effect/Layer"

/**
 * @since 0.1.0
 * @category layers
 */
export const terminals: Layer.Layer<
  Terminals.Terminals | TerminalConfig.TerminalConfig,
  never,
  AgentExtensions | SessionLog | Projections | EventTypes
> = Terminals.layer.pipe(
  Layer.provide(Pty.layer),
  Layer.provideMerge(TerminalConfig.layer()),
  // The defaults are known to be fine, and any variable of the environment is read as text.
  Layer.orDie
)
