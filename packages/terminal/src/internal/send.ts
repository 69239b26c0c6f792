import type { JobContext, JobSpec } from "@afterturn/jobs/Job"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { TerminalSettings } from "../TerminalConfig.js"
import { TerminalExited, TerminalRefused } from "../TerminalError.js"
import type { SendInput, SendResult, WaitReason } from "../Terminals.js"
import type { Live } from "./live.js"
import { exitWords, infoOf, type } from "./live.js"
import * as PlainText from "./plainText.js"
import type { Mark } from "./screen.js"
import type { Since } from "./wait.js"
import * as Wait from "./wait.js"

/**
 * What is typed for a text: its line ends as the Enter key, and Enter at the end when it is to be submitted.
 */
const typed = ({ submit = true, text }: SendInput): string => {
  const lines = text.replace(/\r\n|\n/g, "\r")
  return submit ? `${lines.replace(/\r$/, "")}\r` : lines
}

/** Fails when a text cannot be sent. */
export const check = (
  live: Live,
  { text }: SendInput,
  { maxSendBytes }: TerminalSettings
): Effect.Effect<void, TerminalExited | TerminalRefused> => {
  const bytes = Buffer.byteLength(text)
  if (bytes > maxSendBytes) {
    const reason = `nothing was sent: the text has ${bytes} bytes, and ${maxSendBytes} is the most; write longer ones to a file`
    return new TerminalRefused({ code: "invalid_input", reason })
  }
  return checkRuns(live)
}

export const checkRuns = (live: Live): Effect.Effect<void, TerminalExited> =>
  live.exit === undefined
    ? Effect.void
    : new TerminalExited({ code: "terminal_exited", terminalId: live.id, detail: exitWords(live.exit) })

/** Does something to a terminal and waits for what comes of it. Calls that wait take turns. */
export const actAndWait = <E>(
  live: Live,
  act: Effect.Effect<void, E>,
  patience: Wait.Patience
): Effect.Effect<SendResult, E> =>
  live.turn.withPermits(1)(
    Effect.gen(function* () {
      const since = yield* standing(live)
      const mark = live.screen.mark()
      yield* act
      return yield* resultOf(live, mark, since, yield* Wait.until(live, since, patience))
    })
  )

/** Types a text and waits for what comes of it. What the program does not take in time is typed once it does. */
export const send = (
  live: Live,
  input: SendInput,
  settings: TerminalSettings,
  longest: Duration.Duration
): Effect.Effect<SendResult, TerminalExited | TerminalRefused> =>
  Effect.zipRight(
    check(live, input, settings),
    actAndWait(live, Effect.zipRight(checkRuns(live), typeInScope(live, typed(input))), {
      ...Wait.foreground,
      silence: settings.silence,
      timeout: Duration.min(settings.timeout, longest)
    })
  )

/** A program that reads nothing must not keep the caller from being answered. */
const typeInScope = (live: Live, text: string): Effect.Effect<void> =>
  Effect.asVoid(Effect.forkIn(type(live, text), live.scope))

const standing = (live: Live): Effect.Effect<Since> =>
  Effect.map(Clock.currentTimeMillis, (at) => ({ at, prompts: live.screen.prompts() }))

const resultOf = (live: Live, mark: Mark, since: Since, reason: WaitReason): Effect.Effect<SendResult> =>
  Effect.map(infoOf(live), (terminal) => {
    const { areDropped, lines } = live.screen.since(mark)
    return { reason, lines, areDropped, exitCode: exitCodeSince(live, since), terminal }
  })

/** The exit code of the command that ended since, where the shell's prompts tell. */
const exitCodeSince = (live: Live, since: Since): number | undefined => {
  const { begun, exitCode, isOpen, shown } = live.screen.prompts()
  // One that was running before has ended as well when there is a new prompt.
  const isNew = begun > since.prompts.begun || (shown > since.prompts.shown && !since.prompts.isOpen)
  return isOpen && isNew ? exitCode : undefined
}

/**
 * A text as a job: it runs until the shell shows its prompt, a program reads from the terminal, or the program of the terminal ends.
 * Ending the job interrupts what runs in the terminal, and leaves the terminal open.
 */
export const job = (
  live: Live,
  input: SendInput,
  settings: TerminalSettings
): JobSpec<void, TerminalExited | TerminalRefused, never> => ({
  kind: "terminal",
  label: `${live.id}: ${input.text.trim() === "" ? "Enter" : input.text}`,
  outputLimitBytes: settings.outputLimitBytes,
  prepare: () => Effect.as(check(live, input, settings), { held: undefined, process: live.process.process }),
  run: (context) =>
    Effect.acquireUseRelease(
      Effect.sync(() => follow(live, context)),
      () => runJob(live, input, settings, context),
      (stop) => Effect.sync(stop)
    )
})

const follow = (live: Live, context: JobContext): (() => void) => {
  const plain = PlainText.make()
  const follower = (text: string) => context.write(plain.next(text))
  live.followers.add(follower)
  return () => void live.followers.delete(follower)
}

const runJob = (live: Live, input: SendInput, settings: TerminalSettings, context: JobContext) =>
  Effect.gen(function* () {
    const since = yield* standing(live)
    yield* typeInScope(live, typed(input))
    const reason = yield* Effect.onInterrupt(Wait.until(live, since, Wait.background), () =>
      Effect.flatMap(interrupt(live, settings), context.setDetail)
    )
    yield* context.setDetail(endWords(live, since, reason))
  })

const endWords = (live: Live, since: Since, reason: WaitReason): string => {
  if (live.exit !== undefined) return `terminal ${live.id} exited, ${exitWords(live.exit)}`
  if (reason === "exit") return `terminal ${live.id} was closed`
  if (reason === "input") return `terminal ${live.id} waits for input`
  const code = exitCodeSince(live, since)
  return `terminal ${live.id} is at its prompt${code === undefined ? "" : `, exit code: ${code}`}`
}

/** How long SIGKILL is waited for. */
const killWait = Duration.millis(500)

/** Ends what runs in a terminal, not the terminal: SIGINT, as Ctrl-C would, then SIGKILL to what is not its own program. */
const interrupt = Effect.fnUntraced(function* (live: Live, { interruptGrace }: TerminalSettings) {
  yield* live.process.signal("SIGINT")
  if (yield* isFree(live, interruptGrace)) return `interrupted, terminal ${live.id} is open`
  const answer = yield* live.process.signal("SIGKILL")
  if (answer === "leader") return `interrupted; the program of terminal ${live.id} itself goes on`
  yield* isFree(live, killWait)
  return `killed, for SIGINT did not end it; terminal ${live.id} is open`
})

const isFree = (live: Live, patience: Duration.Duration): Effect.Effect<boolean> =>
  Effect.flatMap(standing(live), (since) =>
    Effect.map(Wait.until(live, since, { ...Wait.foreground, timeout: patience }), (reason) => reason !== "timeout")
  )
