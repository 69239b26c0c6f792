/**
 * A server over a pair of streams, one JSON-RPC message a line. Nothing else is ever written.
 *
 * @since 0.1.0
 */
import type { Readable, Writable } from "node:stream"
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server"
import { deserializeMessage, ProtocolErrorCode, serializeMessage } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Line } from "./internal/lines.js"
import { Lines, listen } from "./internal/lines.js"
import type { McpServer } from "./McpServer.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface StdioOptions {
  readonly input: Readable
  readonly output: Pick<Writable, "write" | "on" | "off">
  /** A longer line is refused. Default 16 MiB. */
  readonly maxLineBytes?: number
  /** How long calls that run may still be answered when the input has ended. Default 1 second. */
  readonly drain?: Duration.DurationInput
}

/**
 * Serves one client until its input ends, or nobody reads the output any more.
 *
 * @since 0.1.0
 * @category running
 */
export const serve = (server: McpServer, options: StdioOptions): Effect.Effect<void, never, Scope.Scope> =>
  connection(options, (transport) => {
    const handle = serveStdio(({ era }) => server.connect({ era, isLasting: true }), { transport })
    return () => handle.close()
  })

/**
 * Answers every request with an error, for a session that cannot be served, until the input ends.
 *
 * @since 0.1.0
 * @category running
 */
export const refuse = (
  reason: { readonly code: string; readonly message: string },
  options: StdioOptions
): Effect.Effect<void, never, Scope.Scope> =>
  connection(options, (transport) => {
    transport.onmessage = (message) => {
      if (!("method" in message) || !("id" in message)) return
      void transport.send(failure(message.id, refusedCode, reason.message, { code: reason.code }))
    }
    void transport.start()
    return () => transport.close()
  })

/** In the range that JSON-RPC leaves to servers. */
const refusedCode = -32_000

const connection = (
  options: StdioOptions,
  open: (transport: LineTransport) => () => Promise<void>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const ended = yield* Deferred.make<void>()
    const transport = new LineTransport(options, () => Deferred.unsafeDone(ended, Effect.void))
    yield* Effect.acquireRelease(
      Effect.sync(() => open(transport)),
      (close) => Effect.promise(close)
    )
    yield* Deferred.await(ended)
    // What was asked before the end may still be answered: a shell's pipe ends at once.
    yield* Effect.timeoutOption(
      Effect.async<void>((resume) => transport.whenAnswered(() => resume(Effect.void))),
      drainOf(options)
    )
  })

const drainOf = ({ drain }: StdioOptions): Duration.DurationInput => drain ?? Duration.seconds(1)

const failure = (id: RequestId | null, code: number, message: string, data?: unknown): JSONRPCMessage =>
  // An id that could not be read is null, which JSON-RPC has and the library's type has not.
  ({ jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } }) as JSONRPCMessage

/**
 * The library's own transport ends with a line that is too long, and leaves bad ones without an answer.
 */
class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  private readonly options: StdioOptions
  private readonly onEnd: () => void
  private readonly pending = new Set<RequestId>()
  private readonly waiters = new Set<() => void>()
  private stop: (() => void) | undefined
  private isClosed = false

  constructor(options: StdioOptions, onEnd: () => void) {
    this.options = options
    this.onEnd = onEnd
  }

  async start(): Promise<void> {
    const lines = new Lines(this.options.maxLineBytes ?? 16 * 1024 * 1024, (line) => this.receive(line))
    const { input, output } = this.options
    // Who does not read the answers any more has left.
    output.on("error", this.onEnd)
    this.stop = listen(input, { data: (chunk) => lines.add(chunk), end: this.onEnd })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.isClosed) return
    const written = new Promise<void>((resolve, reject) => {
      this.options.output.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()))
    })
    await written.finally(() => {
      if (!("method" in message) && "id" in message && message.id !== undefined) this.answered(message.id)
    })
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    this.stop?.()
    this.onEnd()
    this.onclose?.()
  }

  /** Calls back once every request that came has been answered. */
  whenAnswered(callback: () => void): void {
    if (this.pending.size === 0) callback()
    else this.waiters.add(callback)
  }

  private receive(line: Line): void {
    if (line._tag === "too-long") return this.refuse(ProtocolErrorCode.ParseError, "the line is too long")
    const parsed = parse(line.text)
    if (parsed === undefined) return this.refuse(ProtocolErrorCode.ParseError, "the line is no JSON")
    try {
      const message = deserializeMessage(line.text)
      if ("method" in message && "id" in message) this.pending.add(message.id)
      if ("method" in message && message.method === "notifications/cancelled") this.cancelled(message.params)
      this.onmessage?.(message)
    } catch {
      this.refuse(ProtocolErrorCode.InvalidRequest, "the line is no JSON-RPC message")
    }
  }

  /** A request that was cancelled is not answered. */
  private cancelled(params: unknown): void {
    const id = (params as { readonly requestId?: RequestId } | undefined)?.requestId
    if (id !== undefined) this.answered(id)
  }

  private refuse(code: number, message: string): void {
    // Nobody is there to be told when it cannot be written.
    this.send(failure(null, code, message)).catch(() => {})
  }

  private answered(id: RequestId): void {
    this.pending.delete(id)
    if (this.pending.size > 0) return
    for (const waiter of this.waiters) waiter()
    this.waiters.clear()
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
