import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { EventTypes } from "../EventTypes.js"
import { Host } from "../Host.js"
import type { Projections } from "../Projection.js"
import type { SessionAlarms } from "../SessionAlarms.js"
import type { SessionHeader, SessionId } from "../SessionEvent.js"
import { headerVersion } from "../SessionEvent.js"
import type { SessionLeases } from "../SessionLeases.js"
import type { CreateOptions, SessionLog, SessionLogOptions } from "../SessionLog.js"
import { SessionExists } from "../SessionLogError.js"
import type { SessionStoreError, StoredHeader } from "../SessionStore.js"
import { SessionStore } from "../SessionStore.js"
import * as Alarms from "./alarms.js"
import { append, committed } from "./append.js"
import * as Committer from "./committer.js"
import type { Engine } from "./engine.js"
import { readableHeader, requireHeader } from "./engine.js"
import { follow } from "./follow.js"
import { fork } from "./fork.js"
import * as Id from "./id.js"
import { exportJsonl, importJsonl } from "./jsonl.js"
import * as Leases from "./leases.js"
import { list } from "./list.js"
import { now, withNow } from "./now.js"
import * as Projecting from "./projections.js"
import { read } from "./read.js"
import { remove } from "./remove.js"
import { headerOf, summaryOf } from "./rows.js"
import * as Tracking from "./tracked.js"

export interface Services {
  readonly log: (typeof SessionLog)["Service"]
  readonly projections: (typeof Projections)["Service"]
  readonly leases: (typeof SessionLeases)["Service"]
  readonly alarms: (typeof SessionAlarms)["Service"]
}

export const make = (
  options: SessionLogOptions = {}
): Effect.Effect<Services, never, SessionStore | EventTypes | Host | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* SessionStore
    const registry = yield* EventTypes
    const host = yield* Host
    const ttlMillis = Duration.toMillis(options.leaseTtl ?? "15 seconds")
    const heartbeatMillis = Duration.toMillis(options.heartbeatInterval ?? "5 seconds")
    if (heartbeatMillis >= ttlMillis && ttlMillis !== Infinity) {
      return yield* Effect.die(
        new Error(`expected a heartbeat shorter than the lease's ${ttlMillis} ms, got ${heartbeatMillis} ms`)
      )
    }
    const tracker = Tracking.make(options.sessionCapacity ?? 4096)
    const committer = yield* Committer.make(store.commit, committed(tracker), {
      maxEvents: options.maxBatchEvents ?? 512,
      maxBytes: options.maxBatchBytes ?? 4 * 1024 * 1024
    })
    const engine: Engine = {
      store,
      registry,
      tracker,
      committer,
      pageEvents: options.pageEvents ?? 256,
      pageBytes: options.pageBytes ?? 4 * 1024 * 1024,
      pollMillis: Duration.toMillis(options.pollInterval ?? "1 second")
    }
    const projections = yield* Projecting.make(engine, {
      capacity: options.projectionCapacity ?? 1024,
      snapshotEvery: options.snapshotEvery ?? 500
    })
    const leases = Leases.make({ store, tracker, host, ttlMillis, heartbeatMillis })
    yield* Effect.forkScoped(Stream.runForEach(store.changed, (id) => Effect.sync(() => tracker.touch(id))))
    return { log: makeLog(engine, leases), projections, leases, alarms: Alarms.make(store) }
  })

const makeLog = (engine: Engine, leases: (typeof SessionLeases)["Service"]): (typeof SessionLog)["Service"] => ({
  create: Effect.fn("SessionLog.create")((options?: CreateOptions) => create(engine, options)),
  header: (id) => Effect.map(readableHeader(engine, id), summaryOf),
  list: (options) => list(engine, options),
  exists: (id) => Effect.map(engine.store.header(id), Option.isSome),
  remove: Effect.fn("SessionLog.remove")((id: SessionId) => remove(engine, leases, id)),
  append: (id, events, options) => append(engine, id, events, options),
  read: (id, options) => read(engine, id, options),
  lastSeq: (id) => lastSeq(engine, id),
  changes: (id, options) => follow(engine, id, { fromSeq: options?.fromSeq ?? 0, types: undefined }),
  fork: Effect.fn("SessionLog.fork")((id, options) => fork(engine, id, options)),
  exportJsonl: (id) => exportJsonl(engine, id),
  importJsonl: (text, options) => importJsonl(engine, text, options)
})

const lastSeq = (engine: Engine, id: SessionId) =>
  withNow((present) => {
    const known = Tracking.knownLastSeq(engine.tracker.get(id), present)
    return known === undefined
      ? Effect.map(requireHeader(engine, id), (header) => header.lastSeq)
      : Effect.succeed(known)
  })

/** Chance may repeat itself where it is seeded; an id that was asked for may not be replaced. */
const attempts = 3

const create = (
  engine: Engine,
  options: CreateOptions = {}
): Effect.Effect<SessionHeader, SessionExists | SessionStoreError> =>
  Effect.gen(function* () {
    const createdAt = yield* now
    for (let attempt = 1; ; attempt++) {
      const header: Omit<StoredHeader, "lastSeq"> = {
        id: options.id ?? (yield* Id.make),
        version: headerVersion,
        createdAt,
        cwd: options.cwd ?? null,
        title: options.title ?? null,
        parent: options.parent ?? null,
        seedLength: 0,
        delegationDepth: options.delegationDepth ?? 0
      }
      if (yield* engine.store.create(header)) {
        engine.tracker.of(header.id).checked = true
        return headerOf(header)
      }
      if (options.id !== undefined || attempt === attempts) return yield* new SessionExists({ sessionId: header.id })
    }
  })
