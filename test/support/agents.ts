import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import type { AgentModel } from "@afterturn/agent/AgentModel"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** The agent runtime on a memory log, with this model; `log` may wrap the log that agents write to. */
export const layer = <E, Provided extends AgentModel>(
  model: Layer.Layer<Provided, E>,
  options?: Parameters<typeof AgentLoop.layerRuntime>[0],
  log: Layer.Layer<SessionLog, never, SessionLog> = Layer.context()
) =>
  AgentLoop.layerRuntime({ timeZone: "Europe/Berlin", ...options }).pipe(
    Layer.provideMerge(model),
    Layer.provideMerge(log),
    Layer.provideMerge(layerMemory)
  )

/** All events of a session. */
export const events = (id: SessionId): Effect.Effect<ReadonlyArray<SessionEvent>, never, SessionLog> =>
  Effect.flatMap(SessionLog, (log) =>
    log.read(id).pipe(Stream.runCollect, Effect.map(Chunk.toReadonlyArray), Effect.orDie)
  )

/** The types of a session's events, in order. */
export const types = (id: SessionId) => Effect.map(events(id), (all) => all.map((event) => event.type))

/** The data of a session's events of one type. */
export const dataOf = <Type extends string, A, I>(
  id: SessionId,
  type: { readonly type: Type; readonly schema: import("effect/Schema").Schema<A, I> }
): Effect.Effect<ReadonlyArray<A>, never, SessionLog> =>
  Effect.map(events(id), (all) => all.filter((event) => event.type === type.type).map((event) => event.data as A))

/** How the turns of a session ended. */
export const turnEnds = (id: SessionId) =>
  Effect.map(dataOf(id, AgentEvents.TurnEnd), (ends) => ends.map((end) => end.reason))
