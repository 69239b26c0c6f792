/** The events that the session log is measured with: about 250 characters of JSON, as a short message is. */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import type { EventInput } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"
import { prose, random } from "../support/random.js"
import type { RawEvent } from "../support/raw.js"

const Data = Schema.Struct({
  id: Schema.String,
  turn: Schema.Int,
  source: Schema.Struct({ kind: Schema.Literal("user", "agent") }),
  content: Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }))
})

export const Note = EventTypes.make("bench/note", Data)

/** Every hundredth event is of another type, for projections that look at few. */
export const Mark = EventTypes.make("bench/mark", Schema.Struct({ turn: Schema.Int }))

const source = random(7)

const data: ReadonlyArray<typeof Data.Type> = Array.from({ length: 1_000 }, (_, index) => ({
  id: `msg-${index}`,
  turn: index,
  source: { kind: index % 3 === 0 ? "user" : "agent" },
  content: [{ type: "text", text: prose(source, 32) }]
}))

const at = (index: number): typeof Data.Type => data[index % data.length]!

export const noteBytes = data.reduce((sum, item) => sum + JSON.stringify(item).length, 0) / data.length

/** As a program of this project makes an event: checked and frozen. */
export const note = (index: number): EventInput => Note.make(at(index))

/** So many of them, beginning with that number. */
export const notes = (from: number, count: number): ReadonlyArray<EventInput> =>
  Array.from({ length: count }, (_, index) => note(from + index))

/** As somebody without this project would. */
export const rawNote = (index: number): RawEvent => ({ type: Note.type, data: at(index) })
