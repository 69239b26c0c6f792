/**
 * The loop behind a screen: takes in what happens, draws a frame, and hands on what is to be done.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import * as ChatState from "./ChatState.js"
import * as Screen from "./Screen.js"
import * as Transcript from "./Transcript.js"
import { Tty } from "./Tty.js"
import * as View from "./View.js"

/**
 * What others do while the screen goes on; the rest is the loop's own.
 *
 * @since 0.1.0
 * @category models
 */
export type WorkAction = Extract<ChatState.Action, { readonly _tag: "Send" | "Command" | "Cancel" | "Answer" }>

/**
 * @since 0.1.0
 * @category models
 */
export interface DisplayOptions {
  /** Names what is talked to. */
  readonly title: string
  /** What is shown first. */
  readonly transcript: Transcript.Transcript
  readonly happenings: Happenings
  readonly color: boolean
  /** Whether there is an input line. */
  readonly input: boolean
  /** Must not wait for what it starts. */
  readonly perform: (action: WorkAction) => Effect.Effect<unknown>
}

/**
 * What happens on a display, in order. A mailbox, whose reader can be interrupted without a message in its hands.
 *
 * @since 0.1.0
 * @category models
 */
export type Happenings = Mailbox.Mailbox<ChatState.Happening>

/**
 * @since 0.1.0
 * @category constructors
 */
export const makeHappenings: Effect.Effect<Happenings> = Mailbox.make<ChatState.Happening>()

/** A frame at most this often; what happens meanwhile is in the next. */
const framePace = Duration.millis(16)

/** How often a screen on which something moves by itself is drawn. */
const tickPace = Duration.millis(100)

const clearScreen = "\x1b[H\x1b[2J"

/**
 * Draws until the person quits. However it ends, all that happened until then is on the screen, without the rows at its bottom.
 *
 * @since 0.1.0
 * @category running
 */
export const run = (options: DisplayOptions): Effect.Effect<void, never, Tty> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { happenings } = options
      const surface = yield* makeSurface(options)
      const ticking = yield* Effect.makeLatch(false)
      const tick = Effect.zipRight(Effect.sleep(tickPace), happenings.offer({ _tag: "Tick" }))
      yield* Effect.forkScoped(Effect.forever(Effect.zipRight(ticking.await, tick)))
      const next = Effect.map(happenings.takeAll, ([batch]) => batch)
      const loop = Effect.gen(function* () {
        yield* surface.show
        while (yield* surface.takeIn(yield* next)) {
          yield* surface.show
          yield* surface.moves() ? ticking.open : ticking.close
          yield* Effect.sleep(framePace)
        }
      })
      const finish = Effect.flatMap(happenings.clear, surface.finish)
      yield* Effect.ensuring(loop, finish)
    })
  )

/** The state and what of it is on the screen. Used by one fiber at a time. */
const makeSurface = Effect.fnUntraced(function* (options: DisplayOptions) {
  const { color, input, title, transcript } = options
  const tty = yield* Tty
  let state = ChatState.make({ title, now: yield* Clock.currentTimeMillis, transcript })
  let drawn = Screen.blank
  const draw = (size: View.Size, frame: View.Frame) => {
    const [bytes, next] = Screen.draw(drawn, frame, size, { color })
    drawn = next
    return bytes === "" ? Effect.void : tty.write(bytes)
  }
  const show = Effect.flatMap(tty.size, (size) => {
    const [frame, settled] = View.frame(state, size, { input })
    state = settled
    return draw(size, frame)
  })
  /** Completes the transcript on the screen and leaves the cursor below it. */
  const close = Effect.flatMap(tty.size, (size) => {
    const [above, , rest] = View.settle(Transcript.note(state.transcript, []), View.columnsOf(size))
    state = { ...state, transcript: rest }
    return Effect.tap(draw(size, { above, live: [], cursor: { row: 0, column: 0 } }), () => {
      drawn = Screen.blank
    })
  })
  /** Whether it goes on. */
  const act = (action: ChatState.Action): Effect.Effect<boolean> => {
    switch (action._tag) {
      case "Quit":
        return Effect.succeed(false)
      case "Suspend":
        return Effect.as(Effect.zipRight(close, tty.suspend), true)
      case "Redraw":
        drawn = Screen.blank
        return Effect.as(tty.write(clearScreen), true)
      default:
        return Effect.as(options.perform(action), true)
    }
  }
  const takeIn = Effect.fnUntraced(function* (batch: Iterable<ChatState.Happening>) {
    const now = yield* Clock.currentTimeMillis
    for (const happening of batch) {
      const [next, actions] = ChatState.update(state, happening, now)
      state = next
      for (const action of actions) if (!(yield* act(action))) return false
    }
    return true
  })
  /** What happened last is shown, and nothing is done about it any more. */
  const finish = Effect.fnUntraced(function* (rest: Iterable<ChatState.Happening>) {
    for (const happening of rest) [state] = ChatState.update(state, happening, state.now)
    yield* close
  })
  return { show, takeIn, finish, moves: () => ChatState.moves(state) }
})
