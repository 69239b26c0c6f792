/** Event types, events and layers for tests of the session log and of what is built on it. */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Host from "@afterturn/session-log/Host"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLeases } from "@afterturn/session-log/SessionLeases"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as MemoryStore from "@afterturn/session-log/SessionStore/Memory"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** Takes any JSON. */
export const Note = EventTypes.make("test/note", Schema.Unknown)
/** Takes a count only. */
export const Added = EventTypes.make("test/added", Schema.Struct({ amount: Schema.Int }))
export const Hint = EventTypes.make("test/hint", Schema.String, { ignorable: true })
export const Opened = EventTypes.make("test/opened", Schema.Struct({}), { bracket: "open" })
export const Closed = EventTypes.make("test/closed", Schema.Struct({}), { bracket: "close" })

export const types = EventTypes.layerRegister(Note, Added, Hint, Opened, Closed)

export type Services = SessionLog.SessionLog | Projections | SessionLeases | EventTypes.EventTypes | SessionStore

export const notes = (...data: ReadonlyArray<unknown>) => data.map((item) => Note.make(item))

export const added = (...amounts: ReadonlyArray<number>) => amounts.map((amount) => Added.make({ amount }))

/** A store in memory that several processes of a test can share. */
export const memoryStore: Effect.Effect<(typeof SessionStore)["Service"], never, Scope.Scope> = Effect.map(
  Layer.build(MemoryStore.layer),
  (context) => Context.get(context, SessionStore)
)

export const holder = (host: string, pid = 1) => ({ host, bootId: "boot", pid, startedAt: "0@" })

/** A process over a store that others may share; `dead` are the pids that it knows to be dead. */
export const makeProcess = (
  store: (typeof SessionStore)["Service"],
  host: string,
  options?: SessionLog.SessionLogOptions & { readonly dead?: ReadonlySet<number> }
): Effect.Effect<Context.Context<Services>, never, Scope.Scope> =>
  Layer.build(
    Layer.provideMerge(types, SessionLog.layerOver(Layer.succeed(SessionStore, store), options)).pipe(
      Layer.provide(
        Layer.succeed(Host.Host, {
          self: holder(host),
          isDead: (other) => Effect.succeed(options?.dead?.has(other.pid) ?? false)
        })
      )
    )
  )

/** The log of a process. */
export const logOf = (process: Context.Context<Services>) => Context.get(process, SessionLog.SessionLog)

export const collect = <A, E, R>(stream: Stream.Stream<A, E, R>): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

/** All events of a session. */
export const events = (id: SessionId, options?: SessionLog.ReadOptions) =>
  Effect.flatMap(SessionLog.SessionLog, (log) => collect(log.read(id, options)))

export const dataOf = (all: ReadonlyArray<SessionEvent>): ReadonlyArray<unknown> => all.map((event) => event.data)

export const seqsOf = (all: ReadonlyArray<SessionEvent>): ReadonlyArray<number> => all.map((event) => event.seq)
