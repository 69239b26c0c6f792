/**
 * Persistent terminals: shells and other programs that keep their state from call to call, each owned by one session.
 *
 * @since 0.1.0
 */
import { AgentExtensions } from "@afterturn/agent/Agents"
import type { JobSpec } from "@afterturn/jobs/Job"
import { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Instant } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { Live, Runtime } from "./internal/live.js"
import { infoOf, shut, type } from "./internal/live.js"
import { find, open, placeExtension, recordClosed } from "./internal/places.js"
import * as Send from "./internal/send.js"
import * as Wait from "./internal/wait.js"
import type { TerminalExit, TerminalSignal, TerminalSize } from "./TerminalBackend.js"
import { TerminalBackend } from "./TerminalBackend.js"
import { sizeProblem, TerminalConfig } from "./TerminalConfig.js"
import type { OpenError, SendError, TerminalExited, TerminalNotFound } from "./TerminalError.js"
import { TerminalNotEnded, TerminalRefused } from "./TerminalError.js"
import * as TerminalKeys from "./TerminalKeys.js"
import * as TerminalLog from "./TerminalLog.js"

declare module "@afterturn/jobs/Job" {
  interface JobKindMap {
    readonly terminal: "terminal"
  }
}

/**
 * What to open: `type` is one of the configuration's, `cwd` an absolute path, `name` for people.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenInput {
  readonly type: string
  readonly name?: string
  readonly cwd: string
}

/**
 * A terminal as seen now. `state`: its own program shows its prompt; a program waits for input; something runs, or nobody can tell; its
 * program has ended. `survivors`: processes that its program left behind when it ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface TerminalInfo {
  readonly id: string
  readonly type: string
  readonly name: string | undefined
  /** Where it was opened. */
  readonly cwd: string
  readonly size: TerminalSize
  readonly openedAt: Instant
  readonly state: "prompt" | "input" | "running" | "exited"
  /** The name of the program in front, where it is known. */
  readonly program: string | undefined
  readonly exit: TerminalExit | undefined
  readonly survivors: number
  /** Whether a program has the whole screen. */
  readonly isFullScreen: boolean
}

/**
 * A text to type. Line ends are typed as the Enter key, and with `submit` (the default) Enter comes last.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendInput {
  readonly text: string
  readonly submit?: boolean
}

/**
 * What ended a wait: the shell's prompt, a program that reads from the terminal, nothing written for a while, the time, or the end of the
 * terminal's program.
 *
 * @since 0.1.0
 * @category models
 */
export type WaitReason = "prompt" | "input" | "silence" | "timeout" | "exit"

/**
 * What came of something that was sent. `lines` are those that were shown since, the first one with what was typed; of a program that
 * has the whole screen, the screen. `areDropped`: the first of them are no longer kept. `exitCode`: of the command that ended since.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendResult {
  readonly reason: WaitReason
  readonly lines: ReadonlyArray<string>
  readonly areDropped: boolean
  readonly exitCode: number | undefined
  readonly terminal: TerminalInfo
}

/**
 * Lines of a terminal in reading order: `count` of them, `offset` before the newest one. `total` is how many are kept.
 *
 * @since 0.1.0
 * @category models
 */
export interface TerminalPage {
  readonly lines: ReadonlyArray<string>
  readonly offset: number
  readonly total: number
  readonly terminal: TerminalInfo
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Terminals extends Context.Tag("@afterturn/terminal/Terminals")<
  Terminals,
  {
    /** The types that can be opened. */
    readonly types: ReadonlyArray<string>
    /** Opens a terminal of a session with a live agent, and waits for its first prompt. It is closed at the latest with that agent. */
    readonly open: (owner: SessionId, input: OpenInput) => Effect.Effect<TerminalInfo, OpenError>
    /** A session's terminals, oldest first. */
    readonly list: (owner: SessionId) => Effect.Effect<ReadonlyArray<TerminalInfo>>
    /** A page of lines, counted back from the newest: by default the newest 500. */
    readonly read: (
      owner: SessionId,
      id: string,
      page?: { readonly offset?: number; readonly count?: number }
    ) => Effect.Effect<TerminalPage, TerminalNotFound>
    /** Types a text and waits for what comes of it, `longest` at most. Interrupting it ends only the wait. */
    readonly send: (
      owner: SessionId,
      id: string,
      input: SendInput,
      longest?: Duration.DurationInput
    ) => Effect.Effect<SendResult, SendError>
    /**
     * A text as a job of kind `terminal`: it is typed once the job's start is recorded. The job's output is what is written, as plain
     * text. Ending it interrupts what runs in the terminal, which stays open.
     */
    readonly job: (
      owner: SessionId,
      id: string,
      input: SendInput
    ) => Effect.Effect<JobSpec<void, TerminalExited | TerminalRefused, never>, SendError>
    /** Presses keys by their names, in order, and waits for what comes of it for half a second. */
    readonly press: (owner: SessionId, id: string, keys: ReadonlyArray<string>) => Effect.Effect<SendResult, SendError>
    /** Gives a terminal another size: its program is told, and lines are broken anew. */
    readonly resize: (owner: SessionId, id: string, size: TerminalSize) => Effect.Effect<TerminalInfo, SendError>
    /** Sends a signal to the process group in front, and waits a moment for what comes of it. */
    readonly signal: (owner: SessionId, id: string, signal: TerminalSignal) => Effect.Effect<SendResult, SendError>
    /** Ends every process of a terminal and forgets it. */
    readonly close: (owner: SessionId, id: string) => Effect.Effect<TerminalInfo, TerminalNotFound | TerminalNotEnded>
    /** Ends what a dead host left of a terminal in which a job ran; for `Jobs.registerReaper`. */
    readonly reap: (typeof TerminalBackend)["Service"]["reap"]
  }
>() {}

/**
 * Terminals of this process, each held by the live agent of its session.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<
  Terminals,
  never,
  TerminalBackend | TerminalConfig | AgentExtensions | SessionLog | Projections | EventTypes
> = Layer.effect(
  Terminals,
  Effect.gen(function* () {
    const types = yield* EventTypes
    yield* types.register(...TerminalLog.eventTypes)
    const runtime: Runtime = {
      settings: yield* TerminalConfig,
      backend: yield* TerminalBackend,
      log: yield* SessionLog,
      projections: yield* Projections,
      places: new Map()
    }
    const extensions = yield* AgentExtensions
    yield* extensions.register(placeExtension(runtime))
    return make(runtime)
  })
)

const make = (runtime: Runtime): Context.Tag.Service<Terminals> => {
  const use =
    <A, E>(body: (live: Live) => Effect.Effect<A, E>) =>
    (owner: SessionId, id: string) =>
      Effect.flatMap(find(runtime, owner, id), body)
  const { settings } = runtime
  return {
    types: Object.keys(settings.types),
    open: (owner, input) => open(runtime, owner, input),
    list: (owner) => Effect.suspend(() => Effect.forEach(runtime.places.get(owner)?.terminals.values() ?? [], infoOf)),
    read: (owner, id, page) => use((live) => read(runtime, live, page))(owner, id),
    send: (owner, id, input, longest = Duration.infinity) =>
      use((live) => Send.send(live, input, settings, Duration.decode(longest)))(owner, id),
    job: (owner, id, input) =>
      use((live) => Effect.as(Send.check(live, input, settings), { ...Send.job(live, input, settings), owner }))(
        owner,
        id
      ),
    press: (owner, id, keys) => use((live) => press(live, keys))(owner, id),
    resize: (owner, id, size) => use((live) => resize(live, size))(owner, id),
    signal: (owner, id, signal) => use((live) => signalFront(live, signal))(owner, id),
    close: (owner, id) => use((live) => close(runtime, owner, live))(owner, id),
    reap: runtime.backend.reap
  }
}

const defaultCount = 500

const read = (
  { settings }: Runtime,
  live: Live,
  page: { readonly offset?: number; readonly count?: number } | undefined
): Effect.Effect<TerminalPage> =>
  Effect.map(infoOf(live), (terminal) => {
    const all = live.screen.lines()
    const offset = Math.max(0, Math.floor(page?.offset ?? 0))
    const count = Math.min(Math.max(0, Math.floor(page?.count ?? defaultCount)), settings.maxPageLines)
    const end = Math.max(0, all.length - offset)
    return { lines: all.slice(Math.max(0, end - count), end), offset, total: all.length, terminal }
  })

/** How long something short is waited for. */
const moment = { ...Wait.foreground, silence: Duration.millis(300), timeout: Duration.millis(1_000) }

const press = (live: Live, keys: ReadonlyArray<string>): Effect.Effect<SendResult, TerminalExited | TerminalRefused> =>
  Effect.flatMap(Send.checkRuns(live), () =>
    Either.match(Either.all(keys.map((key) => TerminalKeys.encode(key, live.screen.modes()))), {
      onLeft: (reason) => new TerminalRefused({ code: "invalid_input", reason: `nothing was sent: ${reason}` }),
      onRight: (texts) => Send.actAndWait(live, type(live, texts.join("")), moment)
    })
  )

const resize = (live: Live, size: TerminalSize): Effect.Effect<TerminalInfo, TerminalExited | TerminalRefused> => {
  const problem = sizeProblem(size)
  if (problem !== undefined) return new TerminalRefused({ code: "invalid_input", reason: `not resized: ${problem}` })
  return Send.checkRuns(live).pipe(
    Effect.zipRight(live.process.resize(size)),
    Effect.zipRight(
      Effect.sync(() => {
        live.screen.resize(size)
        live.size = size
      })
    ),
    Effect.zipRight(infoOf(live))
  )
}

const signalFront = (
  live: Live,
  signal: TerminalSignal
): Effect.Effect<SendResult, TerminalExited | TerminalRefused> => {
  const sent = Effect.flatMap(live.process.signal(signal), (answer): Effect.Effect<void, TerminalRefused> => {
    if (answer === "sent") return Effect.void
    const reason =
      answer === "leader"
        ? "nothing was sent: SIGKILL would end the terminal's own program; terminal_close ends the terminal"
        : "nothing was sent: no process is in front of the terminal"
    return new TerminalRefused({ code: "signal_refused", reason })
  })
  return Effect.zipRight(Send.checkRuns(live), Send.actAndWait(live, sent, moment))
}

/** Out of sight first: nobody may find a terminal that is being closed. */
const close = (runtime: Runtime, owner: SessionId, live: Live): Effect.Effect<TerminalInfo, TerminalNotEnded> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      const terminal = yield* infoOf(live)
      runtime.places.get(owner)?.terminals.delete(live.id)
      const alive = yield* shut(live, runtime.settings)
      if (alive === 0) yield* recordClosed(runtime, owner, [live.id])
      return alive === 0 ? terminal : yield* new TerminalNotEnded({ code: "not_ended", terminalId: live.id, alive })
    })
  )
