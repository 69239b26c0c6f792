/**
 * Sessions on many machines. Where they live, who is a member and what moves when one dies is the business of `@effect/cluster`; what is
 * true of a session is in its log.
 *
 * @since 0.1.0
 */
import type { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type * as LogOptions from "@afterturn/session-log/SessionLog"
import type { MessageStorage as MessageStorageTag } from "@effect/cluster/MessageStorage"
import * as MessageStorage from "@effect/cluster/MessageStorage"
import * as RunnerAddress from "@effect/cluster/RunnerAddress"
import * as RunnerHealth from "@effect/cluster/RunnerHealth"
import * as Runners from "@effect/cluster/Runners"
import type { Sharding } from "@effect/cluster/Sharding"
import * as ShardingConfig from "@effect/cluster/ShardingConfig"
import * as SocketRunner from "@effect/cluster/SocketRunner"
import * as SqlRunnerStorage from "@effect/cluster/SqlRunnerStorage"
import * as TestRunner from "@effect/cluster/TestRunner"
import type { SocketServerError } from "@effect/platform/SocketServer"
import { SocketServer } from "@effect/platform/SocketServer"
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import * as RpcSerialization from "@effect/rpc/RpcSerialization"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Caretaker from "./Caretaker.js"
import * as SessionEntity from "./SessionEntity.js"

/**
 * How fast the cluster notices and moves. A dead runner's sessions live elsewhere within 10 seconds with these: 6 until its shards are
 * free, 1 until somebody takes them, 1 until the caretaker looks.
 *
 * Shards are held by rows that expire, not by locks of a connection: a runner that is frozen keeps its connections, and would keep those
 * locks for as long as it is.
 *
 * @since 0.1.0
 * @category constants
 */
export const settings = {
  shardLockDisableAdvisory: true,
  shardLockRefreshInterval: "2 seconds",
  shardLockExpiration: "6 seconds",
  refreshAssignmentsInterval: "1 second",
  runnerHealthCheckInterval: "2 seconds",
  entityTerminationTimeout: "10 seconds"
} satisfies Partial<ShardingConfig.ShardingConfig["Type"]>

/**
 * Leases of sessions that go with `settings`, for the session log of a runner.
 *
 * @since 0.1.0
 * @category constants
 */
export const logSettings = {
  leaseTtl: "6 seconds",
  heartbeatInterval: "2 seconds"
} satisfies LogOptions.SessionLogOptions

/**
 * @since 0.1.0
 * @category models
 */
export interface RunnerOptions extends Partial<SessionEntity.EntityOptions> {
  /** Where other runners and clients reach this one. Port 0: the one that it listens on. */
  readonly address: { readonly host: string; readonly port: number }
  /** Where to listen, when that differs. Port 0: any that is free. */
  readonly listen?: { readonly host: string; readonly port: number }
  /** What differs from `settings`. The same for all members. */
  readonly sharding?: Partial<ShardingConfig.ShardingConfig["Type"]>
  readonly caretaker?: Partial<Caretaker.CaretakerOptions>
}

type EntityServices = Layer.Layer.Context<ReturnType<typeof SessionEntity.layer>>

/**
 * A member of the cluster that sessions are placed on, for as long as the layer lives. Closing it hands its sessions over: what they are
 * at has `entityTerminationTimeout` to end.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerRunner = (
  options: RunnerOptions
): Layer.Layer<
  Sharding | Runners.Runners | MessageStorageTag,
  SocketServerError | SqlError,
  Exclude<EntityServices, Sharding> | SessionAlarms | SessionLeases | SqlClient
> => {
  const { address, caretaker, listen = address, sharding, ...entity } = options
  const health = RunnerHealth.layerPing.pipe(
    Layer.provide(Runners.layerRpc),
    Layer.provide(NodeClusterSocket.layerClientProtocol)
  )
  const member = (port: number) =>
    SocketRunner.layer.pipe(
      Layer.provide(NodeClusterSocket.layerClientProtocol),
      Layer.provide(health),
      Layer.provideMerge(storage),
      Layer.provide(RpcSerialization.layerMsgPack),
      Layer.provide(
        ShardingConfig.layer({
          ...settings,
          ...sharding,
          runnerAddress: Option.some(RunnerAddress.make(address.host, port))
        })
      )
    )
  const listening = Layer.unwrapEffect(
    Effect.map(SocketServer, ({ address: bound }) =>
      member(address.port === 0 && bound._tag === "TcpAddress" ? bound.port : address.port)
    )
  ).pipe(Layer.provide(NodeSocketServer.layer(listen)))
  return Layer.merge(SessionEntity.layer(entity), Caretaker.layer(caretaker)).pipe(Layer.provideMerge(listening))
}

/**
 * For those that only ask: `Session.client` of `SessionProtocol` works where this is.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerClient = (
  sharding?: Partial<ShardingConfig.ShardingConfig["Type"]>
): Layer.Layer<Sharding | Runners.Runners | MessageStorageTag, SqlError, SqlClient> =>
  SocketRunner.layerClientOnly.pipe(
    Layer.provide(NodeClusterSocket.layerClientProtocol),
    Layer.provideMerge(storage),
    Layer.provide(RpcSerialization.layerMsgPack),
    Layer.provide(ShardingConfig.layer({ ...settings, ...sharding, runnerAddress: Option.none() }))
  )

/**
 * A cluster of one, in memory.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerTest = (
  options?: Partial<SessionEntity.EntityOptions> & { readonly caretaker?: Partial<Caretaker.CaretakerOptions> }
): Layer.Layer<Sharding, never, Exclude<EntityServices, Sharding> | SessionAlarms | SessionLeases> => {
  const { caretaker, ...entity } = options ?? {}
  return Layer.merge(SessionEntity.layer(entity), Caretaker.layer(caretaker)).pipe(Layer.provideMerge(TestRunner.layer))
}

/** Who is a member and who holds which shard is in the database; messages are in nobody's, for what they did is in the log. */
const storage = Layer.merge(
  SqlRunnerStorage.layerWith({ prefix: "afterturn_cluster" }).pipe(
    // Members that start at once on a new database race for its tables.
    Layer.retry(Schedule.intersect(Schedule.recurs(5), Schedule.spaced("200 millis")))
  ),
  MessageStorage.layerNoop
)
