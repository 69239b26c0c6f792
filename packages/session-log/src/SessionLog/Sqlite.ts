/**
 * The session log in an SQLite file, driven by this Node process: the embedded default.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Layer from "effect/Layer"
import type { EventTypes } from "../EventTypes.js"
import * as NodeHost from "../Host/Node.js"
import type { Projections } from "../Projection.js"
import type { SessionAlarms } from "../SessionAlarms.js"
import type { SessionLeases } from "../SessionLeases.js"
import type { SessionLog, SessionLogOptions } from "../SessionLog.js"
import { layerOver } from "../SessionLog.js"
import type { Options, SqliteInfo } from "../SessionStore/Sqlite.js"
import * as SqliteStore from "../SessionStore/Sqlite.js"
import type { SessionStore, SessionStoreError } from "../SessionStore.js"

/**
 * Sessions in a file of their own. The client is visible too, for tables of one's own in the same file.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSqlite = (
  options: SessionLogOptions & Options
): Layer.Layer<
  SessionLog | Projections | SessionLeases | SessionAlarms | EventTypes | SessionStore | SqlClient | SqliteInfo,
  SessionStoreError
> => layerOver(SqliteStore.layer(options), options).pipe(Layer.provide(NodeHost.layer))
