/** The events that the power-loss rounds write: each says what it must be, so that any other content is noticed. */
import { createHash } from "node:crypto"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Schema from "effect/Schema"

export const sessions = ["s1", "s2", "s3"] as const

export const Entry = EventTypes.make(
  "bench/entry",
  Schema.Struct({ session: Schema.String, seq: Schema.Int, text: Schema.String, hash: Schema.String })
)

type Data = typeof Entry.schema.Type

const hashOf = (session: string, seq: number, text: string): string =>
  createHash("sha1").update(`${session} ${seq} ${text}`).digest("hex")

export const dataOf = (session: string, seq: number, length: number): Data => {
  const text = `${seq} `.repeat(Math.ceil(length / 4)).slice(0, length)
  return { session, seq, text, hash: hashOf(session, seq, text) }
}

/** Whether an event is the one that was written there. */
export const isWhole = (session: string, seq: number, data: Readonly<Record<string, unknown>>): boolean =>
  data.session === session && data.seq === seq && data.hash === hashOf(session, seq, String(data.text))
