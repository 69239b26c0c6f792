/**
 * `afterturn mcp`: a session over the Model Context Protocol.
 *
 * @since 0.1.0
 */
import { Agents } from "@afterturn/agent/Agents"
import * as HttpNode from "@afterturn/mcp/McpHttp/Node"
import * as McpQuestions from "@afterturn/mcp/McpQuestions"
import * as McpServer from "@afterturn/mcp/McpServer"
import * as McpStdio from "@afterturn/mcp/McpStdio"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { Policy } from "../Approve.js"
import { fromError, usage } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { mcpPrompts } from "../Compose/McpPrompts.js"
import { externalLayer } from "../Compose.js"
import * as Database from "../Database.js"
import { Output } from "../Output.js"
import { version } from "../Version.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface McpCommandOptions {
  readonly session: Option.Option<SessionId>
  readonly http: Option.Option<number>
  readonly host: Option.Option<string>
  readonly allowHost: Option.Option<string>
  readonly approve: Option.Option<Policy>
  readonly authority: Option.Option<"user" | "none">
  readonly quiet: Option.Option<Duration.Duration>
  readonly detachJobs: boolean
  readonly db: Option.Option<string>
}

/**
 * Serves a session until its client leaves, or, over HTTP, until the process is ended. `output` is what the protocol is written to.
 *
 * @since 0.1.0
 * @category commands
 */
export const mcp = (options: McpCommandOptions, output: McpStdio.StdioOptions["output"]): Handler =>
  Option.match(options.http, {
    onNone: () =>
      Option.isSome(options.host) || Option.isSome(options.allowHost)
        ? usage("--host and --allow-host go with --http")
        : overStdio(options, output),
    onSome: (port) =>
      options.detachJobs
        ? usage("--detach-jobs goes with stdio: over HTTP no client's end ends the server")
        : overHttp(options, port)
  }).pipe(Effect.mapError(fromError))

/**
 * The end of stdin has the server gone within two seconds, some of which it takes to leave: calls that run may still be answered, then
 * its jobs are ended. What is left of them is left to the ledger.
 */
const drain = Duration.millis(500)
const disposal = Duration.seconds(1)

const overStdio = (options: McpCommandOptions, output: McpStdio.StdioOptions["output"]) =>
  Effect.gen(function* () {
    const io = { input: process.stdin, output, drain }
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
    const made = yield* Effect.either(Scope.extend(open(options, true), scope))
    if (Either.isLeft(made)) {
      const error = fromError(made.left)
      // The client learns the reason from the answer to its first request; stderr is a log that few read.
      yield* Effect.flatMap(Output, ({ note }) => note(`afterturn: ${error.message}`))
      yield* McpStdio.refuse(error, io)
      return yield* error
    }
    yield* McpStdio.serve(made.right, io)
    yield* leave(scope, options.detachJobs)
  }).pipe(Effect.scoped)

/**
 * Ends the session in order, if that does not take too long. Jobs that go on are found in the ledger by the session's next process.
 */
const leave = (scope: Scope.CloseableScope, detachJobs: boolean) =>
  Effect.gen(function* () {
    if (!detachJobs) {
      const closing = yield* Effect.forkIn(Scope.close(scope, Exit.void), yield* Effect.scope)
      const inTime = yield* Effect.raceFirst(
        Effect.as(Fiber.await(closing), true),
        Effect.as(Effect.sleep(disposal), false)
      )
      if (inTime) return
    }
    yield* Effect.sync(() => process.exit(0))
  })

const overHttp = (options: McpCommandOptions, port: number) =>
  Effect.gen(function* () {
    const token = yield* Database.variable("AFTERTURN_MCP_TOKEN")
    const output = yield* Output
    const server = yield* open(options, false)
    const names = Option.map(options.allowHost, (given) => given.split(",").map((name) => name.trim()))
    const { url } = yield* HttpNode.listen(server, {
      port,
      ...given("host", options.host),
      ...given("allowedHosts", names),
      ...given("token", Option.map(token, Redacted.make))
    })
    yield* output.note(
      output.json ? JSON.stringify({ url, session: server.session }) : `session ${server.session} at ${url}`
    )
    return yield* Effect.never
  }).pipe(Effect.scoped)

/** The session's server, with all that it stands on, for as long as the scope is open. */
const open = (options: McpCommandOptions, isLocal: boolean) =>
  Effect.gen(function* () {
    const db = yield* Database.resolve(options.db)
    const policy = Option.getOrElse(options.approve, () => (isLocal ? "allow" : "deny"))
    const layer = mcpPrompts.pipe(
      Layer.provideMerge(
        externalLayer({
          db,
          approval: { policy, ask: McpQuestions.ask },
          bash: isLocal || policy !== "deny",
          ...given("authority", options.authority),
          ...given("quietPeriod", options.quiet)
        })
      )
    )
    const services = yield* Layer.build(layer)
    const agent = yield* Effect.provide(bringToLife(options.session), services)
    return yield* Effect.provide(McpServer.make(agent, { version }), services)
  })

const given = <Key extends string, A>(key: Key, value: Option.Option<A>): { readonly [K in Key]?: A } =>
  Option.match(value, {
    onNone: () => ({}),
    onSome: (value) => ({ [key]: value }) as { readonly [K in Key]: A }
  })

const bringToLife = (session: Option.Option<SessionId>) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const header = { cwd: process.cwd(), title: "MCP" }
    if (Option.isNone(session)) return yield* Effect.flatMap(createUnlessEmpty(header), ({ id }) => agents.resume(id))
    return yield* agents.resume(session.value).pipe(
      Effect.catchTag("SessionNotFound", () => agents.create({ id: session.value, ...header })),
      // Another process created it in between.
      Effect.catchTag("SessionExists", () => agents.resume(session.value))
    )
  })

/** A session that nobody named and in which nothing happened is not kept. */
const createUnlessEmpty = (header: { readonly cwd: string; readonly title: string }) =>
  Effect.flatMap(SessionLog, (log) =>
    Effect.acquireRelease(log.create(header), ({ id }) =>
      Effect.flatMap(log.lastSeq(id), (lastSeq) => (lastSeq < 0 ? log.remove(id) : Effect.void)).pipe(
        // An empty session that stays is no loss.
        Effect.ignore
      )
    )
  )
