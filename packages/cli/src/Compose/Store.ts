/**
 * The session log that commands work on.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { GoalChange } from "@afterturn/goals/GoalEvents"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import * as ScheduleEvents from "@afterturn/schedule/ScheduleEvents"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as NodeHost from "@afterturn/session-log/Host/Node"
import type * as Mailbox from "@afterturn/session-log/Mailbox"
import { layerMemory as mailboxMemory } from "@afterturn/session-log/Mailbox"
import * as MailboxSql from "@afterturn/session-log/Mailbox/Sql"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionLeases } from "@afterturn/session-log/SessionLeases"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import type { SessionStore, SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as SqliteStore from "@afterturn/session-log/SessionStore/Sqlite"
import { SubagentRun } from "@afterturn/subagent/SubagentEvents"
import * as TodoLog from "@afterturn/todo/TodoLog"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Database from "../Database.js"

/**
 * What reads and changes sessions.
 *
 * @since 0.1.0
 * @category models
 */
export type Store =
  | SessionLog.SessionLog
  | Projections
  | SessionLeases
  | SessionAlarms
  | EventTypes.EventTypes
  | SessionStore
  | Mailbox.Mailbox

/** Every type of event that a command may meet, whether or not an agent runs. */
const layerEventTypes = EventTypes.layerRegister(
  ...AgentEvents.all,
  ...JobEvents.all,
  ...ScheduleEvents.all,
  SubagentRun,
  GoalChange,
  TodoLog.TodoWrite
)

/**
 * The sessions in a database: in a file, which is made when there is none, or on a server.
 *
 * @since 0.1.0
 * @category layers
 */
export const storeLayer = (
  db: string,
  options?: SessionLog.SessionLogOptions
): Layer.Layer<Store | SqlClient, SessionStoreError> =>
  Layer.provideMerge(
    layerEventTypes,
    SessionLog.layer(options).pipe(
      Layer.provide(NodeHost.layer),
      Layer.provideMerge(Layer.merge(EventTypes.layer, Layer.provideMerge(MailboxSql.layer(), driver(db))))
    )
  )

const driver = (db: string): Layer.Layer<SessionStore | SqlClient, SessionStoreError> => {
  const named = Database.target(db)
  if (named._tag === "File") return SqliteStore.layer({ filename: named.file })
  // Loaded where there is a server only.
  return Layer.unwrapEffect(
    Effect.map(
      Effect.promise(() => import("@afterturn/session-log/SessionStore/Postgres")),
      ({ layer }) => layer({ url: named.url })
    )
  )
}

/**
 * No sessions: what a command that only looks finds where there is no database, so that looking makes none.
 *
 * @since 0.1.0
 * @category layers
 */
export const emptyStoreLayer: Layer.Layer<Store> = Layer.provideMerge(
  layerEventTypes,
  Layer.merge(SessionLog.layerMemory, mailboxMemory)
)
