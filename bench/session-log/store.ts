/** The session log over each store, open for as long as a bench needs it. */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as NodeHost from "@afterturn/session-log/Host/Node"
import type { Projections } from "@afterturn/session-log/Projection"
import type { EventInput, SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { SessionLogOptions } from "@afterturn/session-log/SessionLog"
import { layerMemory, layerSql, SessionLog } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { Durability } from "../support/raw.js"
import { Mark, Note, note, notes } from "./note.js"

export type Services = SessionLog | Projections | SessionLeases | SessionStore | EventTypes.EventTypes

export type Open = ManagedRuntime.ManagedRuntime<Services, unknown>

const open = <E>(layer: Layer.Layer<Services, E>): Open =>
  ManagedRuntime.make(Layer.provideMerge(EventTypes.layerRegister(Note, Mark), layer))

export const openMemory = (): Open => open(layerMemory)

export const openSqlite = (filename: string, durability: Durability, options?: SessionLogOptions): Open =>
  open(layerSqlite({ ...options, filename, durability }))

export const openSql = <E>(client: Layer.Layer<SqlClient, E>): Open =>
  open(layerSql().pipe(Layer.provide(Layer.merge(client, NodeHost.layer))))

export const createSessions = (store: Open, count: number): Promise<ReadonlyArray<SessionId>> =>
  store.runPromise(
    Effect.flatMap(SessionLog, (log) =>
      Effect.forEach(Array.from({ length: count }), () => Effect.map(log.create(), (header) => header.id))
    )
  )

/** One after the other, each durable before the next. */
export const appendOneByOne = (store: Open, id: SessionId, count: number): Promise<void> =>
  store.runPromise(
    Effect.gen(function* () {
      const log = yield* SessionLog
      for (let index = 0; index < count; index++) yield* log.append(id, [note(index)])
    })
  )

/** So many fibers, each appending one after the other; each to the session of its own number, as far as there are any. */
export const appendTogether = (
  store: Open,
  ids: ReadonlyArray<SessionId>,
  fibers: number,
  count: number
): Promise<void> =>
  store.runPromise(
    Effect.gen(function* () {
      const log = yield* SessionLog
      const appendSome = Effect.fnUntraced(function* (fiber: number) {
        const id = ids[fiber % ids.length]!
        for (let index = 0; index < count; index++) yield* log.append(id, [note(fiber + index)])
      })
      const numbers = Array.from({ length: fibers }, (_, index) => index)
      yield* Effect.forEach(numbers, appendSome, { concurrency: "unbounded", discard: true })
    })
  )

/** Batches one after the other. `made` are events that exist already; without them making them is part of the work. */
export const appendBatches = (
  store: Open,
  id: SessionId,
  batches: number,
  size: number,
  made?: ReadonlyArray<EventInput>
): Promise<void> =>
  store.runPromise(
    Effect.gen(function* () {
      const log = yield* SessionLog
      for (let batch = 0; batch < batches; batch++) {
        const from = batch * size
        yield* log.append(id, made?.slice(from, from + size) ?? notes(from, size))
      }
    })
  )
