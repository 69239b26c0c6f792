import type { ClientCapabilities, Implementation, Server, ServerContext } from "@modelcontextprotocol/server"
import { CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY } from "@modelcontextprotocol/server"

/** What a request of the present revision says of its client; under the earlier ones the connection did, once. */
interface Envelope {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities
  readonly [CLIENT_INFO_META_KEY]?: Implementation
}

const envelope = ({ mcpReq }: ServerContext): Envelope => mcpReq.envelope ?? {}

export const capabilitiesOf = (server: Server, context: ServerContext): ClientCapabilities | undefined =>
  envelope(context)[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()

export const nameOf = (server: Server, context: ServerContext): string =>
  (envelope(context)[CLIENT_INFO_META_KEY] ?? server.getClientVersion())?.name ?? "client"
