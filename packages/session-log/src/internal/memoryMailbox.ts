import * as Effect from "effect/Effect"
import type { Letter, Letters } from "./mailbox.js"

interface Kept extends Letter {
  claimed: boolean
  answer: string | undefined
}

export const makeMemory = (): Letters => {
  // In order of insertion, which is that of the ids.
  const kept = new Map<number, Kept>()
  let last = 0
  return {
    put: (letter) =>
      Effect.sync(() => {
        kept.set(++last, { ...letter, claimed: false, answer: undefined })
        return last
      }),
    answer: (id) => Effect.sync(() => kept.get(id)?.answer),
    withdraw: (id) =>
      Effect.sync(() => {
        const letter = kept.get(id)
        kept.delete(id)
        return letter
      }),
    claim: (session, at) =>
      Effect.sync(() => {
        for (const [id, letter] of kept) {
          if (letter.session !== session || letter.claimed || letter.expiresAt <= at) continue
          letter.claimed = true
          return { id, command: letter.command }
        }
        return undefined
      }),
    reply: (id, answer) =>
      Effect.sync(() => {
        const letter = kept.get(id)
        if (letter !== undefined) letter.answer = answer
      })
  }
}
