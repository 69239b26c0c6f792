/** Services that a host's composition gets, and that note what they have promised. */
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RawEvent } from "../../SimulationCheck.js"

/** What was promised so far, session by session. */
export interface Promised {
  readonly acknowledged: Array<{ readonly session: string; readonly event: RawEvent }>
  readonly messages: Array<{ readonly session: string; readonly id: string }>
  readonly announced: Array<{ readonly session: string; readonly event: RawEvent }>
  readonly logged: Array<string>
}

export const nothingPromised = (): Promised => ({ acknowledged: [], messages: [], announced: [], logged: [] })

export const raw = ({ data, seq, time, type }: SessionEvent): RawEvent => ({ seq, type, time, data })

/** The log, which notes each event that an append has answered with. */
export const layer = (promised: Promised): Layer.Layer<SessionLog, never, SessionLog> =>
  Layer.effect(
    SessionLog,
    Effect.map(SessionLog, (log) => ({
      ...log,
      append: (id, events, options) =>
        Effect.map(log.append(id, events, options), (stored) => {
          for (const event of stored) promised.acknowledged.push({ session: id, event: raw(event) })
          return stored
        })
    }))
  )
