/**
 * The host: the process that this one is, as the holder of leases, and what it can tell about other holders.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { LeaseHolder } from "./SessionStore.js"

/**
 * @since 0.1.0
 * @category tags
 */
export class Host extends Context.Tag("@afterturn/session-log/Host")<
  Host,
  {
    /** This process. */
    readonly self: LeaseHolder
    /**
     * Whether a holder is provably dead: it ran on this machine and is gone. `false` also means "cannot tell"; its lease then
     * has to expire.
     */
    readonly isDead: (holder: LeaseHolder) => Effect.Effect<boolean>
  }
>() {}

/**
 * A host that cannot tell whether others are dead. For stores that nobody else shares, and platforms without an adapter.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (self: LeaseHolder): Layer.Layer<Host> =>
  Layer.succeed(Host, { self, isDead: () => Effect.succeed(false) })
