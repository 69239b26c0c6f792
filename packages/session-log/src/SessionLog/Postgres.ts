/**
 * The session log on a PostgreSQL server, driven by this Node process.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Layer from "effect/Layer"
import type { EventTypes } from "../EventTypes.js"
import * as NodeHost from "../Host/Node.js"
import type { Projections } from "../Projection.js"
import type { SessionAlarms } from "../SessionAlarms.js"
import type { SessionLeases } from "../SessionLeases.js"
import type { SessionLog, SessionLogOptions } from "../SessionLog.js"
import { layerOver } from "../SessionLog.js"
import type { Options } from "../SessionStore/Postgres.js"
import * as PostgresStore from "../SessionStore/Postgres.js"
import type { SessionStore, SessionStoreError } from "../SessionStore.js"

/**
 * Sessions on a server, which any number of processes and machines may share. The client is visible too, for tables of one's own in the
 * same database.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerPostgres = (
  options: SessionLogOptions & Options
): Layer.Layer<
  SessionLog | Projections | SessionLeases | SessionAlarms | EventTypes | SessionStore | SqlClient | PgClient,
  SessionStoreError
> => layerOver(PostgresStore.layer(options), options).pipe(Layer.provide(NodeHost.layer))
