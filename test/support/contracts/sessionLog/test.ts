/** What the parts of the session log's contract share. */
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Services } from "../../sessionLog.js"

/** Declares a test that runs over a layer of its own. */
export type Test = <A, E>(title: string, effect: () => Effect.Effect<A, E, Services | Scope.Scope>) => void

export const id = (text: string): SessionId => text as SessionId

/** Sums up amounts. */
export const total = Projection.make({
  key: "test/total",
  version: 1,
  schema: Schema.Number,
  initial: 0,
  types: ["test/added"],
  apply: (sum, event) => (event.type === "test/added" ? sum + (event.data as { amount: number }).amount : sum)
})

/** Seqs of all events. */
export const seqs = Projection.make({
  key: "test/seqs",
  version: 1,
  schema: Schema.Array(Schema.Int),
  initial: [] as ReadonlyArray<number>,
  apply: (sofar, event) => [...sofar, event.seq]
})

/** With the prototype and the property order that parsed JSON has. */
export const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
