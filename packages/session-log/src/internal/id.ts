import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { SessionId } from "../SessionEvent.js"
import { withNow } from "./now.js"

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const digits = (value: number, length: number): string => {
  let text = ""
  for (let rest = value, index = 0; index < length; index++) {
    text = alphabet[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** A new id that sorts by time: 50 bits of milliseconds, 80 of chance, in base 32. */
export const make: Effect.Effect<SessionId> = withNow((now) =>
  Effect.map(Effect.all([Random.nextIntBetween(0, 2 ** 40), Random.nextIntBetween(0, 2 ** 40)]), ([high, low]) =>
    SessionId.make(`${digits(Math.max(now, 0), 10)}${digits(high, 8)}${digits(low, 8)}`)
  )
)
