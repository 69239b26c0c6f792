/**
 * The server over HTTP on Node's own listener.
 *
 * @since 0.1.0
 */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { toNodeHandler } from "@modelcontextprotocol/node"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { HttpOptions } from "../McpHttp.js"
import * as McpHttp from "../McpHttp.js"
import type { McpServer } from "../McpServer.js"

/**
 * The server cannot listen there.
 *
 * @since 0.1.0
 * @category errors
 */
export class ListenFailed extends Schema.TaggedError<ListenFailed>("@afterturn/mcp/ListenFailed")("ListenFailed", {
  host: Schema.String,
  port: Schema.Number,
  reason: Schema.String
}) {
  override get message(): string {
    return `cannot listen on ${this.host}, port ${this.port}: ${this.reason}`
  }
}

/**
 * Beyond loopback anybody could drive the session: a token is required there.
 *
 * @since 0.1.0
 * @category errors
 */
export class TokenRequired extends Schema.TaggedError<TokenRequired>("@afterturn/mcp/TokenRequired")("TokenRequired", {
  host: Schema.String
}) {
  override get message(): string {
    return `a server on ${this.host} can be reached from outside this machine and needs a token`
  }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ListenOptions extends HttpOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string
  /** 0 takes any that is free. */
  readonly port: number
}

/**
 * Whether only this machine can reach a host.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)

/**
 * Listens until the scope closes; connections that are open then are cut.
 *
 * @since 0.1.0
 * @category running
 */
export const listen = (
  server: McpServer,
  options: ListenOptions
): Effect.Effect<{ readonly url: string }, ListenFailed | TokenRequired, Scope.Scope> =>
  Effect.gen(function* () {
    const host = options.host ?? "127.0.0.1"
    if (!isLoopback(host) && options.token === undefined) return yield* new TokenRequired({ host })
    const fetch = yield* McpHttp.make(server, {
      ...options,
      allowedHosts: [...(options.allowedHosts ?? []), bracketed(host)]
    })
    const handle = toNodeHandler({ fetch: (request) => fetch(request) })
    const listener = yield* Effect.acquireRelease(open(handle, host, options.port), close)
    const { port } = listener.address() as AddressInfo
    return { url: `http://${bracketed(host)}:${port}${McpHttp.path}` }
  })

const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host)

const open = (
  handle: ReturnType<typeof toNodeHandler>,
  host: string,
  port: number
): Effect.Effect<Http.Server, ListenFailed> =>
  Effect.async((resume) => {
    const listener = Http.createServer((request, response) => {
      if (!isAddressed(request)) {
        response.writeHead(400, { Connection: "close" }).end()
        return
      }
      // The adapter's type leaves out that Node's fields may be undefined.
      handle(request as Parameters<typeof handle>[0], response).catch(() => response.destroy())
    })
    listener.once("error", (error) => resume(new ListenFailed({ host, port, reason: error.message })))
    listener.listen(port, host, () => resume(Effect.succeed(listener)))
  })

/** A path of this server under a plain name: everything else would be read in more than one way. */
const isAddressed = ({ headers, url }: Http.IncomingMessage): boolean =>
  url?.startsWith("/") === true && /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i.test(headers.host ?? "")

const close = (listener: Http.Server): Effect.Effect<void> =>
  Effect.async((resume) => {
    listener.close(() => resume(Effect.void))
    listener.closeAllConnections()
  })
