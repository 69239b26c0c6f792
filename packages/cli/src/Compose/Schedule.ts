/**
 * What the command decides about reminders.
 *
 * @since 0.1.0
 */
import type { Agents } from "@afterturn/agent/Agents"
import * as ReminderHost from "@afterturn/schedule/ReminderHost"
import * as Schedule from "@afterturn/schedule/Schedule"
import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import type { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Outstanding from "../internal/outstanding.js"
import type { Store } from "./Store.js"

/**
 * The service, for agents and for commands that drive no session. Hosts look after sessions that nobody drives.
 *
 * @since 0.1.0
 * @category layers
 */
export const scheduleLayer: Layer.Layer<Schedule.Schedule | ScheduleConfig.ScheduleConfig, never, Store> =
  Schedule.layer.pipe(
    Layer.provideMerge(
      ScheduleConfig.layer({ delivery: "host" }).pipe(
        // These very options are known to be fine.
        Layer.orDie
      )
    )
  )

type Settling = Effect.Effect.Context<ReturnType<typeof Outstanding.untilSettled>>

/**
 * Drives sessions that nobody drives when one of their reminders is due, until what that started has ended.
 *
 * @since 0.1.0
 * @category layers
 */
export const hostLayer = (
  options?: Pick<ReminderHost.HostOptions, "onDrive">
): Layer.Layer<never, never, Schedule.Schedule | Agents | SessionAlarms | Settling> =>
  Layer.unwrapEffect(
    Effect.map(Effect.context<Settling>(), (context) =>
      ReminderHost.layer({
        ...options,
        stay: (agent) =>
          Outstanding.untilSettled(agent).pipe(
            Effect.provide(context),
            // A session that cannot be read is let go; whoever drives it next is told why.
            Effect.ignore
          )
      })
    )
  )
