import type { Instant } from "@afterturn/session-log/Instant"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { TerminalBackend, TerminalExit, TerminalProcess, TerminalSize } from "../TerminalBackend.js"
import type { TerminalSettings } from "../TerminalConfig.js"
import type { TerminalInfo } from "../Terminals.js"
import { endFamily } from "./endFamily.js"
import type { Screen } from "./screen.js"

/**
 * The terminals of one live agent.
 */
export interface Place {
  readonly owner: SessionId
  readonly terminals: Map<string, Live>
  /** Terminals that are being opened. */
  opening: number
  /** The highest number given out, also by earlier runs. */
  last: number
  isClosing: boolean
}

/**
 * What the functions of the service share.
 */
export interface Runtime {
  readonly settings: TerminalSettings
  readonly backend: Context.Tag.Service<TerminalBackend>
  readonly log: Context.Tag.Service<SessionLog>
  readonly projections: Context.Tag.Service<Projections>
  readonly places: Map<SessionId, Place>
}

/**
 * An open terminal. Mutable fields change in one synchronous step each.
 */
export interface Live {
  readonly id: string
  readonly type: string
  readonly name: string | undefined
  readonly cwd: string
  readonly openedAt: Instant
  readonly process: TerminalProcess
  readonly screen: Screen
  /** Holds the program, its emulator and the fiber that reads from it. */
  readonly scope: Scope.CloseableScope
  /** Calls that wait take turns. */
  readonly turn: Effect.Semaphore
  /** Texts arrive one after the other. */
  readonly typing: Effect.Semaphore
  /** Who follows what is written: held up by them, it holds up the program. */
  readonly followers: Set<(text: string) => Effect.Effect<void>>
  size: TerminalSize
  /** Pieces of output that have been shown. */
  pieces: number
  lastOutputAt: number
  exit: TerminalExit | undefined
  /** Processes that its program left behind. */
  survivors: number
  isClosed: boolean
}

/** Shows what is written until the program ends. Bytes become text here, once: a character that is split arrives whole. */
export const pump = Effect.fnUntraced(function* (live: Live): Effect.fn.Return<void> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  while (true) {
    const chunk = yield* live.process.read
    yield* show(live, chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true }))
    if (chunk === undefined) break
    yield* Effect.allowInterrupt
  }
  live.survivors = yield* live.process.alive
  live.exit = yield* live.process.exit
})

const show = Effect.fnUntraced(function* (live: Live, text: string) {
  if (text === "") return
  live.lastOutputAt = yield* Clock.currentTimeMillis
  for (const follow of [...live.followers]) yield* follow(text)
  yield* live.screen.show(text)
  live.pieces++
})

/** Types a text. */
export const type = (live: Live, text: string): Effect.Effect<void> =>
  live.typing.withPermits(1)(live.process.write(new TextEncoder().encode(text)))

/** Ends all processes of a terminal and lets go of it; says how many could not be ended. */
export const shut = (live: Live, settings: TerminalSettings): Effect.Effect<number> =>
  Effect.uninterruptible(
    Effect.tap(endFamily(live.process, settings.closeGrace), () =>
      Effect.zipRight(
        Scope.close(live.scope, Exit.void),
        Effect.sync(() => {
          live.isClosed = true
        })
      )
    )
  )

/** How the program ended, in words. */
export const exitWords = (exit: TerminalExit): string =>
  exit._tag === "Exited" ? `exit code: ${exit.code}` : `ended by ${exit.signal}`

export const infoOf = (live: Live): Effect.Effect<TerminalInfo> =>
  Effect.map(live.process.foreground, ({ isLeader, program, waits }) => ({
    id: live.id,
    type: live.type,
    name: live.name,
    cwd: live.cwd,
    size: live.size,
    openedAt: live.openedAt,
    state: stateOf(live, isLeader, waits),
    program: live.exit === undefined ? program : undefined,
    exit: live.exit,
    survivors: live.survivors,
    isFullScreen: live.screen.isFull()
  }))

const stateOf = (live: Live, isLeader: boolean | undefined, waits: boolean | undefined): TerminalInfo["state"] => {
  if (live.exit !== undefined) return "exited"
  if (waits === false) return "running"
  const prompts = live.screen.prompts()
  if (waits === undefined) return prompts.isOpen ? "prompt" : "running"
  return isLeader === true && (prompts.isOpen || prompts.shown === 0) ? "prompt" : "input"
}
