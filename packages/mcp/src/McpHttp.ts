/**
 * A server over HTTP, as a function from request to response: the protocol's Streamable HTTP, in its present revision and, with
 * sessions, in the earlier ones.
 *
 * @since 0.1.0
 */
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  isInitializeRequest,
  isLegacyRequest,
  localhostAllowedHostnames,
  originValidationResponse,
  WebStandardStreamableHTTPServerTransport
} from "@modelcontextprotocol/server"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { newId } from "./internal/newId.js"
import * as McpInbox from "./McpInbox.js"
import type { McpServer } from "./McpServer.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface HttpOptions {
  /** Names, without a port, under which the server may be addressed and from whose pages it may be called, beside those of loopback. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** What a client must present as its bearer token. Absent: nothing. */
  readonly token?: Redacted.Redacted
  /** Connections of earlier revisions that are kept at a time; the one that was used least recently goes. Default 64. */
  readonly maxConnections?: number
}

/**
 * Where the server answers.
 *
 * @since 0.1.0
 * @category constants
 */
export const path = "/mcp"

/** What a request may send. */
const maxBodyBytes = 4 * 1024 * 1024

/**
 * Answers requests until the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  server: McpServer,
  options?: HttpOptions
): Effect.Effect<(request: Request) => Promise<Response>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const present = yield* Effect.acquireRelease(
      Effect.sync(() =>
        createMcpHandler((context) => server.connect({ era: context.era, isLasting: false }), {
          legacy: "reject",
          maxRequestBodySize: maxBodyBytes
        })
      ),
      (handler) => Effect.promise(() => handler.close())
    )
    yield* Effect.acquireRelease(
      Effect.sync(() => server.onInbox(() => present.notify.resourceUpdated(McpInbox.uri))),
      (stop) => Effect.sync(stop)
    )
    const earlier = yield* Effect.acquireRelease(
      Effect.sync(() => new EarlierConnections(server, options?.maxConnections ?? 64)),
      (connections) => Effect.promise(() => connections.close())
    )
    const guard = makeGuard(options)
    return async (request) => {
      const refused = guard(request)
      if (refused !== undefined) return refused
      return (await isLegacyRequest(request, undefined, { maxRequestBodySize: maxBodyBytes }))
        ? earlier.handle(request)
        : present.fetch(request)
    }
  })

const makeGuard = (options: HttpOptions | undefined) => {
  const hosts = [...localhostAllowedHostnames(), ...(options?.allowedHosts ?? [])]
  const token = options?.token === undefined ? undefined : Redacted.value(options.token)
  return (request: Request): Response | undefined => {
    if (new URL(request.url).pathname !== path) return refusal(404, `there is nothing here; the server is at ${path}`)
    return (
      hostHeaderValidationResponse(request, hosts) ??
      originValidationResponse(request, hosts) ??
      (token === undefined || presents(request, token)
        ? undefined
        : refusal(401, "a bearer token is required", { "WWW-Authenticate": 'Bearer realm="afterturn"' }))
    )
  }
}

/** Takes the same time wherever the two differ. */
const presents = (request: Request, token: string): boolean => {
  const given = /^Bearer +(.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1]?.trim() ?? ""
  let difference = given.length ^ token.length
  for (let at = 0; at < token.length; at++) difference |= token.charCodeAt(at) ^ (given.charCodeAt(at) || 0)
  return difference === 0
}

const refusal = (status: number, message: string, headers?: Record<string, string>): Response =>
  new Response(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message } }), {
    status,
    headers: { "Content-Type": "application/json", ...headers }
  })

/** Earlier revisions know connections, which the server names; what comes without a request goes over them. */
class EarlierConnections {
  private readonly server: McpServer
  private readonly max: number
  /** In order of use. */
  private readonly open = new Map<string, WebStandardStreamableHTTPServerTransport>()

  constructor(server: McpServer, max: number) {
    this.server = server
    this.max = max
  }

  async handle(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id")
    if (id !== null) {
      const transport = this.open.get(id)
      if (transport === undefined) return refusal(404, "there is no such connection; initialize a new one")
      this.open.delete(id)
      this.open.set(id, transport)
      return transport.handleRequest(request)
    }
    if (!(await opens(request)))
      return refusal(400, "a connection begins with initialize; its answer has the Mcp-Session-Id to send")
    const transport = await this.connect()
    return transport.handleRequest(request)
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.open.values()].map((transport) => transport.close()))
  }

  private async connect(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: newId,
      maxRequestBodySize: maxBodyBytes,
      onsessioninitialized: (id) => this.keep(id, transport),
      onsessionclosed: (id) => void this.open.delete(id)
    })
    const connection = await this.server.connect({ era: "legacy", isLasting: true })
    await connection.connect(transport)
    return transport
  }

  private keep(id: string, transport: WebStandardStreamableHTTPServerTransport): void {
    this.open.set(id, transport)
    const [oldest] = this.open
    if (this.open.size <= this.max || oldest === undefined) return
    this.open.delete(oldest[0])
    // It ends for its client as well, who begins a new one.
    oldest[1].close().catch(() => {})
  }
}

const opens = async (request: Request): Promise<boolean> => {
  if (request.method !== "POST") return false
  try {
    return isInitializeRequest(await request.clone().json())
  } catch {
    return false
  }
}
