/** The store as one host sees it: slow, failing, and gone at the instant of the host's death. */
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type { Dice } from "../../Dice.js"
import type { StoreFault } from "../../SimulationStep.js"
import type { Coverage } from "./coverage.js"

type Store = Context.Tag.Service<SessionStore>

/** What a step has asked for, and what is left of it. */
export interface Gate {
  readonly died: Deferred.Deferred<void>
  readonly dice: Dice
  readonly coverage: Coverage
  isDead: boolean
  crash: { writes: number; readonly when: "before" | "after" } | undefined
  fault: { left: number; readonly fault: StoreFault; readonly reads: boolean } | undefined
  slow: { left: number; readonly millis: number } | undefined
}

export const makeGate = (dice: Dice, coverage: Coverage): Gate => ({
  died: Deferred.unsafeMake(FiberId.none),
  dice,
  coverage,
  isDead: false,
  crash: undefined,
  fault: undefined,
  slow: undefined
})

/** From here on nothing that the host does has any effect. */
export const die = (gate: Gate): Effect.Effect<never> =>
  Effect.suspend(() => {
    gate.isDead = true
    return Effect.zipRight(Deferred.succeed(gate.died, undefined), Effect.interrupt)
  })

/** A store behind a gate. What reads and what writes is told by the names of the operations. */
export const guarded = (gate: Gate, store: Store): Store => {
  const read = reader(gate)
  const write = writer(gate)
  return {
    create: (header) => write("create", store.create(header)),
    fork: (header) => write("fork", store.fork(header)),
    stage: write("stage", store.stage),
    header: (id) => read(store.header(id)),
    list: (query) => read(store.list(query)),
    remove: (id) => write("remove", store.remove(id)),
    commit: (requests) => write("commit", store.commit(requests)),
    read: (id, page) => read(store.read(id, page)),
    types: (id) => read(store.types(id)),
    snapshot: (id, key, version) => read(store.snapshot(id, key, version)),
    snapshots: (id) => read(store.snapshots(id)),
    saveSnapshot: (id, snapshot) => write("saveSnapshot", store.saveSnapshot(id, snapshot)),
    lease: (id) => read(store.lease(id)),
    acquireLease: (request) => write("acquireLease", store.acquireLease(request)),
    renewLease: (id, epoch, expiresAt) => write("renewLease", store.renewLease(id, epoch, expiresAt)),
    releaseLease: (id, epoch) => write("releaseLease", store.releaseLease(id, epoch)),
    expiredLeases: (query) => read(store.expiredLeases(query)),
    alarms: (id) => read(store.alarms(id)),
    dueAlarms: (query) => read(store.dueAlarms(query)),
    nextAlarm: (after) => read(store.nextAlarm(after)),
    changed: store.changed,
    gc: write("gc", store.gc)
  }
}

/** Others may go on while a store works, and it may take its time. */
const pass = (gate: Gate): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (gate.isDead) return Effect.interrupt
    const { slow } = gate
    if (slow !== undefined && slow.left > 0) {
      slow.left--
      gate.coverage.count("store", "slow")
      return Effect.sleep(gate.dice.between(1, Math.max(1, slow.millis)))
    }
    return gate.dice.chance(0.5) ? Effect.yieldNow() : Effect.void
  })

const failing = (gate: Gate, isWrite: boolean): Effect.Effect<void, SessionStoreError> =>
  Effect.suspend(() => {
    if (gate.isDead) return Effect.interrupt
    const { fault } = gate
    if (fault === undefined || fault.left === 0 || !(isWrite || fault.reads)) return Effect.void
    // A file that can't be written can be read, and so can one on a full disk.
    if (!isWrite && (fault.fault === "full" || fault.fault === "read-only" || fault.fault === "torn"))
      return Effect.void
    fault.left--
    gate.coverage.count("store", fault.fault)
    return new SessionStoreError({
      reason: fault.fault === "torn" ? "unavailable" : fault.fault,
      message: `simulated: ${fault.fault}`
    })
  })

const reader =
  (gate: Gate) =>
  <A, E, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E | SessionStoreError, R> =>
    pass(gate).pipe(Effect.zipRight(failing(gate, false)), Effect.zipRight(operation))

const writer =
  (gate: Gate) =>
  <A, E, R>(name: string, operation: Effect.Effect<A, E, R>): Effect.Effect<A, E | SessionStoreError, R> =>
    pass(gate).pipe(
      Effect.zipRight(failing(gate, true)),
      Effect.zipRight(
        Effect.suspend((): Effect.Effect<A, E, R> => {
          const when = boundary(gate)
          if (when === undefined) return operation
          gate.coverage.count("crash", `${when} ${name}`)
          return when === "before" ? die(gate) : Effect.zipRight(Effect.exit(operation), die(gate))
        })
      ),
      // The answer takes its time as well.
      Effect.zipLeft(pass(gate))
    )

/** Whether this write is the one at which the host dies. */
const boundary = ({ crash }: Gate): "before" | "after" | undefined =>
  crash === undefined || crash.writes-- > 0 ? undefined : crash.when
