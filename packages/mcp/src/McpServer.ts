/**
 * The protocol's server for one session: tools, inbox and prompts, for as many connections as come. The connected client is the
 * session's agent.
 *
 * @since 0.1.0
 */
import type { Agent, AgentError } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import * as CallPatience from "@afterturn/agent/CallPatience"
import type { ExternalAnswer } from "@afterturn/agent/ExternalAgent"
import { ExternalAgents } from "@afterturn/agent/ExternalAgent"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import { Projections } from "@afterturn/session-log/Projection"
import type { CallToolResult, McpRequestContext, ServerContext } from "@modelcontextprotocol/server"
import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as EffectSchedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RunCall } from "./internal/calls.js"
import * as Calls from "./internal/calls.js"
import * as Client from "./internal/client.js"
import type { McpOptions } from "./McpConfig.js"
import * as McpConfig from "./McpConfig.js"
import * as McpInbox from "./McpInbox.js"
import type { McpPrompt } from "./McpPrompts.js"
import { McpPrompts } from "./McpPrompts.js"
import * as McpTools from "./McpTools.js"

/**
 * What a transport connects its clients to.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpServer {
  readonly session: Agent["id"]
  /** A server object for one connection; not `isLasting`: for one request, where the protocol has no connections. */
  readonly connect: (context: {
    readonly era: McpRequestContext["era"]
    readonly isLasting: boolean
  }) => Promise<Server>
  /** Calls a listener whenever what waits in the inbox has changed, until the answer is called. */
  readonly onInbox: (listener: () => void) => () => void
}

/**
 * What a server is made of.
 *
 * @since 0.1.0
 * @category models
 */
export type Services = ExternalAgents | McpPrompts | Projections | SystemPrompt | ToolRegistry

interface Connection {
  readonly server: Server
  readonly isLegacy: boolean
  subscribed: boolean
}

interface Session {
  readonly agent: Agent
  readonly options: McpOptions
  readonly external: Context.Tag.Service<ExternalAgents>
  readonly prompts: Context.Tag.Service<McpPrompts>
  readonly projections: Context.Tag.Service<Projections>
  readonly systemPrompt: Context.Tag.Service<SystemPrompt>
  readonly registry: Context.Tag.Service<ToolRegistry>
  /** Runs an effect for a request: it belongs to the server, and ends when the request is cancelled. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, signal?: AbortSignal) => Promise<A>
  readonly runCall: RunCall
  readonly connections: Set<Connection>
  readonly listeners: Set<() => void>
}

/**
 * Serves the session of an agent until the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  agent: Agent,
  options?: Partial<McpOptions>
): Effect.Effect<McpServer, never, Services | Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntimePromise<never>()
    const config = McpConfig.make(options)
    const session: Session = {
      agent,
      options: config,
      external: yield* ExternalAgents,
      prompts: yield* McpPrompts,
      projections: yield* Projections,
      systemPrompt: yield* SystemPrompt,
      registry: yield* ToolRegistry,
      run: (effect, signal) => run(signal === undefined ? effect : Effect.raceFirst(effect, aborted(signal))),
      runCall: yield* Calls.make(config.answerPatience),
      connections: new Set(),
      listeners: new Set()
    }
    yield* Effect.forkScoped(watchInbox(session))
    return {
      session: agent.id,
      connect: ({ era, isLasting }) => run(connect(session, era === "legacy", isLasting)),
      onInbox: (listener) => {
        session.listeners.add(listener)
        return () => session.listeners.delete(listener)
      }
    }
  })

const aborted = (signal: AbortSignal): Effect.Effect<never> =>
  Effect.async((resume) => {
    const stop = () => resume(Effect.interrupt)
    if (signal.aborted) return stop()
    signal.addEventListener("abort", stop, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", stop))
  })

const connect = Effect.fnUntraced(function* (session: Session, isLegacy: boolean, isLasting: boolean) {
  const { name, version } = session.options
  const server = new Server(
    { name, version },
    {
      capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {} },
      instructions: yield* session.systemPrompt.render(session.agent)
    }
  )
  const connection: Connection = { server, isLegacy, subscribed: false }
  if (isLasting) session.connections.add(connection)
  server.onclose = () => void session.connections.delete(connection)
  serveTools(session, connection)
  serveInbox(session, connection)
  servePrompts(session, server)
  return server
})

const serveTools = (session: Session, connection: Connection): void => {
  const { isLegacy, server } = connection
  server.setRequestHandler("tools/list", (_, { mcpReq }) =>
    session.run(
      Effect.map(session.registry.tools(session.agent), (tools) => ({ tools: tools.map(McpTools.definition) })),
      mcpReq.signal
    )
  )
  server.setRequestHandler("tools/call", ({ params }, context) => {
    const call = session.external.call(session.agent.id, {
      name: params.name,
      input: params.arguments ?? {},
      route: `mcp:${Client.nameOf(server, context)}`
    })
    const answer = patiently(session, params.name, context, (limited) =>
      session.runCall(connection, context, Effect.map(limited(call), resultOf))
    ).pipe(
      Effect.tap(() => (isLegacy ? Effect.void : announceInRequest(session, context))),
      Effect.catchAll((error) =>
        error instanceof ProtocolError ? Effect.fail(error) : Effect.succeed(unavailable(error))
      )
    )
    return session.run(answer, context.mcpReq.signal)
  })
}

const resultOf = ({ handed, outcome, waiting }: ExternalAnswer): CallToolResult => ({
  content: [
    { type: "text", text: outcome.text },
    ...(handed.length === 0 ? [] : [{ type: "text" as const, text: McpInbox.handover(handed, waiting) }])
  ],
  isError: !outcome.ok
})

/** What keeps a session from answering is no fault of the call. */
const unavailable = (error: AgentError): CallToolResult => ({
  content: [{ type: "text", text: `error session_unavailable: ${error.message}` }],
  isError: true
})

/** A client that asked for progress gets it for as long as the call takes; one that did not is not kept waiting. */
const patiently = <A, E>(
  { options }: Session,
  name: string,
  { mcpReq }: ServerContext,
  answer: (limited: <B, E2>(call: Effect.Effect<B, E2>) => Effect.Effect<B, E2>) => Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) {
    return answer((call) => Effect.provideService(call, CallPatience.CallPatience, options.patience))
  }
  return Effect.flatMap(Clock.currentTimeMillis, (start) => {
    const tell = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const seconds = Math.round((now - start) / 1_000)
      const params = { progressToken, progress: seconds, message: `${name} still runs after ${seconds} s` }
      return sending(() => mcpReq.notify({ method: "notifications/progress", params }))
    })
    const telling = Effect.delay(
      Effect.repeat(tell, EffectSchedule.spaced(options.progressInterval)),
      options.progressInterval
    )
    return Effect.raceFirst(
      answer((call) => call),
      Effect.zipRight(telling, Effect.never)
    )
  })
}

const sending = (send: () => Promise<void>): Effect.Effect<void> =>
  // A notification that does not arrive is missed by nobody but a client that has gone.
  Effect.ignore(Effect.tryPromise(send))

const serveInbox = (session: Session, connection: Connection): void => {
  const { server } = connection
  const inbox = {
    uri: McpInbox.uri,
    name: "inbox",
    title: "Session inbox",
    description:
      "What waits for this session: notices of jobs, due reminders, rounds of a goal. Reading takes nothing from it.",
    mimeType: "application/json"
  }
  server.setRequestHandler("resources/list", () => ({ resources: [inbox] }))
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: [] }))
  server.setRequestHandler("resources/read", ({ params }, { mcpReq }) => {
    assertInbox(params.uri)
    return session.run(
      Effect.map(Effect.mapError(stateOf(session), unreadable), (state) => ({
        contents: [{ uri: McpInbox.uri, mimeType: inbox.mimeType, text: McpInbox.resource(session.agent.id, state) }]
      })),
      mcpReq.signal
    )
  })
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    assertInbox(params.uri)
    connection.subscribed = true
    return {}
  })
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    assertInbox(params.uri)
    connection.subscribed = false
    return {}
  })
}

const assertInbox = (uri: string): void => {
  if (uri !== McpInbox.uri) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `there is no resource ${uri}; the one of a session is ${McpInbox.uri}`
    )
  }
}

const unreadable = (error: { readonly message: string }): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InternalError, error.message)

const stateOf = ({ agent, projections }: Session) =>
  Effect.map(projections.get(agent.id, AgentLog.state), ({ value }) => value)

const servePrompts = (session: Session, server: Server): void => {
  server.setRequestHandler("prompts/list", (_, { mcpReq }) =>
    session.run(
      Effect.map(available(session), (prompts) => ({
        prompts: prompts.map(({ argument, description, name, title }) => ({
          name,
          title,
          description,
          ...(argument === undefined ? {} : { arguments: [{ ...argument, required: false }] })
        }))
      })),
      mcpReq.signal
    )
  )
  server.setRequestHandler("prompts/get", ({ params }, { mcpReq }) =>
    session.run(
      Effect.flatMap(available(session), (prompts) => {
        const prompt = prompts.find(({ name }) => name === params.name)
        if (prompt === undefined) {
          const known = prompts.map(({ name }) => name).join(", ")
          const message = `there is no prompt ${JSON.stringify(params.name)}; expected one of ${known}`
          return Effect.fail(new ProtocolError(ProtocolErrorCode.InvalidParams, message))
        }
        return Effect.map(prompt.text(session.agent, argumentOf(prompt, params.arguments)), (text) => ({
          description: prompt.description,
          messages: [{ role: "user" as const, content: { type: "text" as const, text } }]
        }))
      }),
      mcpReq.signal
    )
  )
}

const argumentOf = ({ argument }: McpPrompt, given: Record<string, string> | undefined): string =>
  argument === undefined ? "" : (given?.[argument.name] ?? "").trim()

const available = (session: Session): Effect.Effect<ReadonlyArray<McpPrompt>> =>
  Effect.zipWith(session.prompts.all, session.registry.tools(session.agent), (prompts, tools) =>
    prompts.filter((prompt) => tools.some(({ tool }) => tool.name === prompt.tool))
  )

/**
 * Tells the connections what has come to wait since. A log that cannot be read here is reported by the calls that need it.
 */
const watchInbox = (session: Session): Effect.Effect<void> => {
  let known: ReadonlySet<string> = new Set()
  return session.projections.changes(session.agent.id, AgentLog.state).pipe(
    Stream.map(({ value }) => McpInbox.waiting(value)),
    Stream.changesWith((one, other) => idsOf(one) === idsOf(other)),
    Stream.runForEach((waiting) => {
      const fresh = waiting.filter(({ id }) => !known.has(id))
      known = new Set(waiting.map(({ id }) => id))
      const text = fresh.length === 0 ? undefined : McpInbox.announcement(fresh)
      for (const listener of session.listeners) listener()
      return Effect.forEach([...session.connections], (connection) => tell(connection, text), {
        concurrency: "unbounded",
        discard: true
      })
    }),
    Effect.catchAll((error) => Effect.logWarning("what waits is no longer announced", error))
  )
}

const idsOf = (messages: ReadonlyArray<{ readonly id: string }>): string => messages.map(({ id }) => id).join()

/** Under the present revision a server logs only while it answers a request, and whoever transports it knows who subscribed. */
const tell = ({ isLegacy, server, subscribed }: Connection, text: string | undefined): Effect.Effect<void> => {
  const updated = sending(() => server.sendResourceUpdated({ uri: McpInbox.uri }))
  if (!isLegacy) return updated
  const logged = sending(() => server.sendLoggingMessage({ level: "info", logger: "afterturn", data: text }))
  return Effect.zipRight(subscribed ? updated : Effect.void, text === undefined ? Effect.void : logged)
}

const announceInRequest = (session: Session, { mcpReq }: ServerContext): Effect.Effect<void> =>
  Effect.flatMap(Effect.option(stateOf(session)), (state) => {
    const waiting = state._tag === "None" ? [] : McpInbox.waiting(state.value)
    return waiting.length === 0
      ? Effect.void
      : sending(() => mcpReq.log("info", McpInbox.announcement(waiting), "afterturn"))
  })
