import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Foreground } from "../TerminalBackend.js"
import type { WaitReason } from "../Terminals.js"
import type { Live } from "./live.js"
import type { Prompts } from "./screen.js"

/**
 * Where a terminal stood when something was sent to it.
 */
export interface Since {
  readonly at: number
  readonly prompts: Prompts
}

/**
 * How patient a wait is. Absent: without end.
 */
export interface Patience {
  readonly silence?: Duration.Duration
  readonly timeout?: Duration.Duration
  /** How long it has to be quiet before a program that waits for input is taken at its word. */
  readonly inputQuiet: Duration.Duration
  /** The longest pause between two looks. */
  readonly pause: Duration.Duration
}

/** For calls that wait. */
export const foreground = { inputQuiet: Duration.millis(150), pause: Duration.millis(100) }

/** A program may look for input now and then while it works: nobody waits for this answer, so it can be a surer one. */
export const background = { inputQuiet: Duration.seconds(1), pause: Duration.millis(500) }

/** A shell shows its prompt last: it has to be quiet for as long as the rest of the prompt may take. */
const promptQuiet = 30

/** How soon the first look comes. */
const firstPause = 20

/**
 * Waits until the terminal has something to say: a prompt, a program that reads from it, silence, the end of the time or of the program.
 *
 * What is in front is looked at twice with nothing written in between, so that what happens while it is looked at is not taken for its
 * end.
 */
export const until = Effect.fnUntraced(function* (
  live: Live,
  since: Since,
  patience: Patience
): Effect.fn.Return<WaitReason> {
  let seen: { readonly reason: WaitReason; readonly pieces: number } | undefined
  for (let pause = firstPause; ; pause = Math.min(pause * 1.5, Duration.toMillis(patience.pause))) {
    if (live.exit !== undefined || live.isClosed) return "exit"
    const now = yield* Clock.currentTimeMillis
    const quiet = now - Math.max(live.lastOutputAt, since.at)
    const reason = quiet < promptQuiet ? undefined : judge(yield* live.process.foreground, live, since)
    const isSure = reason !== undefined && seen?.reason === reason && seen.pieces === live.pieces
    if (isSure && (reason === "prompt" || quiet >= Duration.toMillis(patience.inputQuiet))) return reason
    seen = reason === undefined ? undefined : { reason, pieces: live.pieces }
    if (patience.silence !== undefined && quiet >= Duration.toMillis(patience.silence)) return "silence"
    if (patience.timeout !== undefined && now - since.at >= Duration.toMillis(patience.timeout)) return "timeout"
    yield* Effect.sleep(Duration.millis(pause))
  }
})

const judge = ({ isLeader, waits }: Foreground, live: Live, since: Since): "prompt" | "input" | undefined => {
  if (waits === false) return undefined
  const { isOpen, shown } = live.screen.prompts()
  // Where nobody shows who reads, a prompt that came since is what is left to go by.
  if (waits === undefined) return isOpen && shown > since.prompts.shown ? "prompt" : undefined
  return isLeader === true && (isOpen || shown === 0) ? "prompt" : "input"
}
