/**
 * The host: the process that this one is, as a holder of leases, and what it can tell about other holders.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { LeaseHolder } from "./SessionStore.js"

/**
 * Who this process is to others, and what it knows of them.
 *
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
 * What a process can see of the machine that it runs on. An adapter that cannot tell says so with `undefined`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Machine {
  readonly host: string
  /** Names this boot of the machine. */
  readonly bootId: string | undefined
  /**
   * Names the space that pids are counted in, where there are several: containers may share the name and the boot of their
   * machine, but a pid of one says nothing in another.
   */
  readonly pidSpace: string
  /** When the process of this pid started, in the machine's own terms; `"gone"` when there is none or it has ended. */
  readonly startedAt: (pid: number) => string | "gone" | undefined
}

/**
 * The host that a process on a machine is.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromMachine = (machine: Machine, pid: number): (typeof Host)["Service"] => ({
  self: { host: machine.host, bootId: machine.bootId ?? "", pid, startedAt: startOf(machine, pid) ?? "" },
  isDead: (holder) => Effect.sync(() => isDead(machine, holder))
})

/**
 * A host that cannot tell whether others are dead: for stores that no other process shares, and for platforms without an
 * adapter. `Host/Node` is the one for Node.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (self: LeaseHolder): Layer.Layer<Host> =>
  Layer.succeed(Host, { self, isDead: () => Effect.succeed(false) })

const isDead = (machine: Machine, holder: LeaseHolder): boolean => {
  if (holder.host !== machine.host || machine.bootId === undefined || holder.bootId === "") return false
  // The machine was started anew since, and no process survives that.
  if (holder.bootId !== machine.bootId) return true
  const isOfThisSpace = holder.startedAt.endsWith(`@${machine.pidSpace}`)
  if (!isOfThisSpace) return false
  const startedAt = startOf(machine, holder.pid)
  return startedAt !== undefined && startedAt !== holder.startedAt
}

const startOf = (machine: Machine, pid: number): string | undefined => {
  const startedAt = machine.startedAt(pid)
  return startedAt === undefined || startedAt === "gone" ? startedAt : `${startedAt}@${machine.pidSpace}`
}
