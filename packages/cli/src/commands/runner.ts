/**
 * `afterturn runner` and `afterturn send`: a member of a cluster, and a message for a session that lives in one.
 *
 * @since 0.1.0
 */
import * as Cluster from "@afterturn/cluster/Cluster"
import { Session, SessionRefused } from "@afterturn/cluster/SessionProtocol"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import type { SocketServerError } from "@effect/platform/SocketServer"
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Approve from "../Approve.js"
import { CliError, failure, fromError, usage } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { storeLayer } from "../Compose/Store.js"
import { agentLayer } from "../Compose.js"
import * as Database from "../Database.js"
import { untilSettled } from "../internal/outstanding.js"
import { Output } from "../Output.js"
import * as Route from "../Route.js"
import type { HostOptions } from "./host.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface RunnerOptions extends HostOptions {
  readonly host: Option.Option<string>
  readonly listen: Option.Option<string>
  readonly port: Option.Option<number>
}

/**
 * Drives the sessions that the cluster places here, until it is interrupted; then hands them over.
 *
 * @since 0.1.0
 * @category commands
 */
export const runner = (options: RunnerOptions): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const route = yield* Route.resolve(options.model)
    const db = yield* server(options.db)
    const port = Option.getOrElse(options.port, () => 0)
    const host = Option.getOrElse(options.host, () => "127.0.0.1")
    const agents = agentLayer({
      db,
      route,
      baseUrl: Option.getOrUndefined(options.baseUrl),
      approval: { policy: Approve.resolve(options.approve, route) },
      // Sessions that come back from a dead runner go on with their goals.
      goals: { rearmOnResume: true },
      log: Cluster.logSettings
    })
    const member = Layer.unwrapEffect(
      Effect.map(Effect.context<Settling>(), (context) =>
        Cluster.layerRunner({
          address: { host, port },
          listen: { host: Option.getOrElse(options.listen, () => host), port },
          settled: (agent) =>
            untilSettled(agent).pipe(
              Effect.provide(context),
              // A session that cannot be read is let go; whoever drives it next is told why.
              Effect.ignore
            )
        })
      )
    ).pipe(Layer.mapError(notStarted))
    const place = Database.shown(db)
    yield* Effect.zipRight(
      output.note(
        output.json ? JSON.stringify({ runner: place, host }) : `a runner at ${host} for the sessions in ${place}`
      ),
      Effect.never
    ).pipe(Effect.provide(Layer.provideMerge(member, agents)))
  }).pipe(Effect.mapError(fromError))

type Settling = Effect.Effect.Context<ReturnType<typeof untilSettled>>

const notStarted = (error: SocketServerError | SqlError): CliError =>
  failure("runner_not_started", `the runner could not start: ${causeOf(error)}`)

const causeOf = ({ cause, message }: { readonly cause?: unknown; readonly message: string }): string =>
  cause instanceof Error ? cause.message : message

/** Machines share a server, never a file. */
const server = (given: Option.Option<string>) =>
  Effect.flatMap(Database.resolve(given), (db) =>
    Database.target(db)._tag === "Server"
      ? Effect.succeed(db)
      : Effect.fail(usage("--db: expected postgres://user@host/database: a cluster shares a server, not a file"))
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  readonly db: Option.Option<string>
  readonly session: SessionId
  readonly text: string
}

/**
 * Leaves a message with the session's runner, which the session is made for when there is none, and tells its id.
 *
 * @since 0.1.0
 * @category commands
 */
export const send = (options: SendOptions): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const db = yield* server(options.db)
    yield* Effect.gen(function* () {
      const client = (yield* Session.client)(options.session)
      yield* client.Create({ cwd: process.cwd() })
      const { id } = yield* client.Followup({ text: options.text })
      yield* output.line(output.json ? JSON.stringify({ session: options.session, message: id }) : id)
    }).pipe(
      staying,
      Effect.timeoutFail({
        duration: "30 seconds",
        onTimeout: () => failure("no_runner", "no runner answered within 30 seconds; is one started on this database?")
      }),
      Effect.provide(Cluster.layerClient().pipe(Layer.mapError(notStarted), Layer.provide(storeLayer(db))))
    )
  }).pipe(Effect.mapError((error) => (error._tag === "StdoutClosed" ? error : refused(error))))

/** What the session's runner answers, or the way to it. */
const refused = (error: { readonly _tag: string; readonly message: string }): CliError => {
  if (error instanceof SessionRefused) return failure(error.code, error.message)
  return error instanceof CliError || error instanceof SessionStoreError
    ? fromError(error)
    : failure("cluster_unavailable", error.message === "" ? error._tag : error.message)
}

/** A session that moves meanwhile interrupts the call, not this command. */
const staying = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | CliError, R> =>
  // Nothing is lost: what the call had done is in the session.
  Effect.catchAllCause(
    effect,
    (cause): Effect.Effect<never, E | CliError> =>
      Cause.isInterruptedOnly(cause)
        ? Effect.fail(
            failure("session_moved", "the session moved meanwhile; see whether it has the message, then send it again")
          )
        : Effect.failCause(cause)
  )
