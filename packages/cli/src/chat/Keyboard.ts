/**
 * What is typed, as keys: pieces of input put together, and told apart from the Escape key by the time that passes.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Keys from "./Keys.js"

/** How long the rest of a key's sequence may take; then ESC was the key. */
const escapeWait = Duration.millis(50)

/** A piece of input, its end, or that nothing followed the piece of that number for a moment. */
type Typed =
  | { readonly _tag: "Piece"; readonly text: string }
  | { readonly _tag: "Silence"; readonly after: number }
  | { readonly _tag: "End" }

/**
 * Presses what is typed, key by key. Ends when the input does.
 *
 * @since 0.1.0
 * @category running
 */
export const read = (
  input: Stream.Stream<string>,
  press: (key: Keys.Key) => Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.scoped(
    Effect.gen(function* () {
      const typed = yield* Queue.unbounded<Typed>()
      const pieces = Stream.runForEach(input, (text) => Queue.offer(typed, { _tag: "Piece", text }))
      yield* Effect.forkScoped(Effect.zipRight(pieces, Queue.offer(typed, { _tag: "End" })))
      let left = ""
      let count = 0
      while (true) {
        const next = yield* Queue.take(typed)
        if (next._tag === "End") return
        if (next._tag === "Silence" && next.after !== count) continue
        const [keys, rest] = next._tag === "Piece" ? Keys.decode(left, next.text) : Keys.flush(left)
        left = rest
        count++
        yield* Effect.forEach(keys, press, { discard: true })
        if (left === Keys.flush(left)[1]) continue
        // Not a timeout around the take: that could be interrupted with a piece in its hands.
        const silence: Typed = { _tag: "Silence", after: count }
        yield* Effect.forkScoped(Effect.zipRight(Effect.sleep(escapeWait), Queue.offer(typed, silence)))
      }
    })
  )
