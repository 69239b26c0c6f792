import type { AgentExtension } from "@afterturn/agent/Agents"
import { now } from "@afterturn/session-log/Instant"
import type { Projection } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { TerminalType } from "../TerminalConfig.js"
import type { OpenError } from "../TerminalError.js"
import {
  TerminalLimitReached,
  TerminalNotFound,
  TerminalOpenFailed,
  TerminalOwnerAbsent,
  UnknownTerminalType
} from "../TerminalError.js"
import { TerminalClose, TerminalOpen } from "../TerminalEvents.js"
import * as TerminalLog from "../TerminalLog.js"
import type { OpenInput, TerminalInfo } from "../Terminals.js"
import type { Live, Place, Runtime } from "./live.js"
import { infoOf, pump, shut } from "./live.js"
import * as Screen from "./screen.js"
import * as Wait from "./wait.js"

/** Gives each agent a place for its terminals, ends what an earlier host left of some, and closes its own with it. */
export const placeExtension =
  (runtime: Runtime): AgentExtension =>
  (agent) =>
    Effect.gen(function* () {
      // Read before anything is opened here.
      const left = yield* recorded(runtime, agent.id, TerminalLog.unclosed)
      const last = yield* recorded(runtime, agent.id, TerminalLog.lastNumber)
      yield* Effect.acquireRelease(
        Effect.sync(() => enter(runtime, agent.id, last)),
        (place) => leave(runtime, place)
      )
      yield* Effect.forkScoped(endLeft(runtime, agent.id, left))
    })

/** Without it ids may be given out again and something may be left running, which is better than an agent without terminals. */
const recorded = <State, Encoded>(
  { projections }: Runtime,
  owner: SessionId,
  projection: Projection<State, Encoded>
): Effect.Effect<State> =>
  projections.get(owner, projection).pipe(
    Effect.map(({ value }) => value),
    Effect.catchAll((error) =>
      Effect.as(
        Effect.logWarning(`the terminals of session "${owner}" before are not known`, error),
        projection.initial
      )
    )
  )

const enter = (runtime: Runtime, owner: SessionId, last: number): Place => {
  const place: Place = { owner, terminals: new Map(), opening: 0, last, isClosing: false }
  runtime.places.set(owner, place)
  return place
}

/** What ignored that its host had died. */
const endLeft = (runtime: Runtime, owner: SessionId, left: TerminalLog.Unclosed): Effect.Effect<void> =>
  Effect.forEach(TerminalLog.withoutJob(left), (process) => runtime.backend.reap(process), { discard: true }).pipe(
    Effect.zipRight(recordClosed(runtime, owner, Object.keys(left.terminals)))
  )

/** One that is not recorded is looked for again by the next host, which finds nothing of it. */
export const recordClosed = ({ log }: Runtime, owner: SessionId, ids: ReadonlyArray<string>): Effect.Effect<void> =>
  ids.length === 0
    ? Effect.void
    : log
        .append(
          owner,
          ids.map((id) => TerminalClose.make({ id }))
        )
        .pipe(
          Effect.asVoid,
          Effect.catchAll((error) =>
            Effect.logDebug(`that ${ids.join(", ")} of session "${owner}" ended is not recorded`, error)
          )
        )

const leave = (runtime: Runtime, place: Place): Effect.Effect<void> =>
  Effect.suspend(() => {
    place.isClosing = true
    if (runtime.places.get(place.owner) === place) runtime.places.delete(place.owner)
    const all = [...place.terminals.values()]
    place.terminals.clear()
    const closed = Effect.forEach(
      all,
      (live) =>
        Effect.flatMap(shut(live, runtime.settings), (alive) =>
          alive === 0
            ? Effect.succeed([live.id])
            : Effect.as(Effect.logWarning(`${alive} processes of terminal "${live.id}" could not be ended`), [])
        ),
      { concurrency: "unbounded" }
    )
    return Effect.flatMap(closed, (ids) => recordClosed(runtime, place.owner, ids.flat()))
  })

/** A terminal of the caller; a foreign one does not exist. */
export const find = (runtime: Runtime, owner: SessionId, id: string): Effect.Effect<Live, TerminalNotFound> =>
  Effect.suspend(() => {
    const place = runtime.places.get(owner)
    const live = place?.terminals.get(id)
    if (live !== undefined) return Effect.succeed(live)
    const ended = (TerminalLog.numberOf(id) ?? Number.POSITIVE_INFINITY) <= (place?.last ?? 0)
    return new TerminalNotFound({ code: "terminal_not_found", terminalId: id, ended })
  })

/** How long a program may take to show its first prompt; it is there before, too. */
const firstPromptLimit = Duration.seconds(10)

export const open = (runtime: Runtime, owner: SessionId, input: OpenInput): Effect.Effect<TerminalInfo, OpenError> =>
  Effect.gen(function* () {
    const live = yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(admit(runtime, owner, input), ({ place, program }) =>
        Effect.ensuring(
          start(runtime, place, program, input, restore),
          Effect.sync(() => place.opening--)
        )
      )
    )
    const at = yield* Clock.currentTimeMillis
    const unseen = { at, prompts: { shown: 0, begun: 0, isOpen: false, exitCode: undefined } }
    yield* Wait.until(live, unseen, {
      ...Wait.foreground,
      silence: runtime.settings.silence,
      timeout: firstPromptLimit
    })
    return yield* infoOf(live)
  })

/** A place among the owner's terminals, in one synchronous step. */
const admit = (
  { places, settings }: Runtime,
  owner: SessionId,
  { type }: OpenInput
): Effect.Effect<{ readonly place: Place; readonly program: TerminalType }, OpenError> =>
  Effect.suspend((): Effect.Effect<{ readonly place: Place; readonly program: TerminalType }, OpenError> => {
    const place = places.get(owner)
    if (place === undefined) return new TerminalOwnerAbsent({ code: "no_owning_session", owner })
    const program = Object.hasOwn(settings.types, type) ? settings.types[type] : undefined
    if (program === undefined) {
      return new UnknownTerminalType({ code: "unknown_type", type, known: Object.keys(settings.types) })
    }
    const limit = settings.maxTerminalsPerOwner
    if (place.terminals.size + place.opening >= limit) {
      return new TerminalLimitReached({ code: "terminal_limit_reached", limit })
    }
    place.opening++
    return Effect.succeed({ place, program })
  })

const start = Effect.fnUntraced(function* (
  runtime: Runtime,
  place: Place,
  program: TerminalType,
  input: OpenInput,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.fn.Return<Live, OpenError> {
  const scope = yield* Scope.make()
  const live = yield* Effect.onError(
    Scope.extend(bringUp(runtime, place, program, input, scope, restore), scope),
    (cause) => Scope.close(scope, Exit.failCause(cause))
  )
  if (place.isClosing) {
    yield* shut(live, runtime.settings)
    return yield* new TerminalOwnerAbsent({ code: "no_owning_session", owner: place.owner })
  }
  place.terminals.set(live.id, live)
  return live
})

const bringUp = Effect.fnUntraced(function* (
  { backend, log, settings }: Runtime,
  place: Place,
  program: TerminalType,
  input: OpenInput,
  scope: Scope.CloseableScope,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
) {
  const size = { columns: settings.columns, rows: settings.rows }
  const emulator = yield* Screen.load
  const process = yield* restore(
    backend.open({
      command: program.command,
      args: program.args,
      cwd: input.cwd,
      environment: {
        ...settings.environment,
        ...program.environment,
        TERM: "xterm-256color",
        AFTERTURN_SESSION_ID: place.owner
      },
      size
    })
  )
  const id = `term-${++place.last}`
  yield* Effect.mapError(
    log.append(place.owner, [TerminalOpen.make({ id, process: process.process })]),
    (cause) => new TerminalOpenFailed({ code: "open_failed", reason: "it could not be recorded", cause })
  )
  const replies: Array<string> = []
  const screen = Screen.make(emulator, {
    ...size,
    scrollback: settings.scrollback,
    onReply: (text) => replies.push(text)
  })
  yield* Effect.addFinalizer(() => Effect.sync(screen.dispose))
  const live: Live = {
    id,
    type: input.type,
    name: input.name,
    cwd: input.cwd,
    openedAt: yield* now,
    process,
    screen: answering(screen, replies, (bytes) => Effect.asVoid(Effect.forkIn(process.write(bytes), scope))),
    scope,
    turn: yield* Effect.makeSemaphore(1),
    typing: yield* Effect.makeSemaphore(1),
    followers: new Set(),
    size,
    pieces: 0,
    lastOutputAt: yield* Clock.currentTimeMillis,
    exit: undefined,
    survivors: 0,
    isClosed: false
  }
  yield* Effect.forkIn(Effect.interruptible(pump(live)), scope)
  return live
})

/**
 * Programs ask terminals what they are and where the cursor stands: what the emulator answers is typed. That is not waited for: a program
 * that writes without reading must not be held up by its own answers.
 */
const answering = (
  screen: Screen.Screen,
  replies: Array<string>,
  write: (bytes: Uint8Array) => Effect.Effect<void>
): Screen.Screen => ({
  ...screen,
  show: (text) =>
    Effect.zipRight(
      screen.show(text),
      Effect.suspend(() => {
        const reply = replies.splice(0).join("")
        return reply === "" ? Effect.void : write(new TextEncoder().encode(reply))
      })
    )
})
