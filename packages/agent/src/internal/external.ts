import type { EventInput } from "@afterturn/session-log/SessionEvent"
import type { AppendError } from "@afterturn/session-log/SessionLog"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberHandle from "effect/FiberHandle"
import type * as Scope from "effect/Scope"
import type { Agent, AgentError } from "../Agent.js"
import { AgentClosed, CurrentAgent } from "../Agent.js"
import * as AgentEvents from "../AgentEvents.js"
import type { AgentMessage, MessageSource } from "../AgentMessage.js"
import * as ToolPipeline from "../ToolPipeline.js"
import { claim } from "./closing.js"
import { errorReason } from "./failure.js"
import { toJson } from "./json.js"
import type { Live, Phase } from "./live.js"
import * as LiveAgent from "./live.js"

type Turn = Extract<Phase, { readonly _tag: "turn" }>

/**
 * An agent whose turns are made by calls from outside. The mutable fields change only inside `locked`.
 */
export interface External {
  readonly live: Live
  readonly agent: Agent
  readonly quietPeriod: Duration.Duration
  /** The source of a turn that a call opens. */
  readonly source: MessageSource
  /** Open while no call runs. */
  readonly noCalls: Effect.Latch
  /** Open while a turn is open that the driver should watch. */
  readonly opened: Effect.Latch
  readonly timer: FiberHandle.FiberHandle
  /** Calls that run now. They make up one step. */
  running: number
  step: number
  /** Calls of this turn so far. */
  calls: number
  /** Moves with each call that begins or ends: a timer that was set before has nothing to say. */
  moves: number
  /** Whether the open turn is that of a message, rather than of a call. */
  ofMessage: boolean
  /** Why the turn must end, when the store refused one of its events. */
  fault: AgentEvents.TurnEndReason | undefined
}

/** A call as it came from outside. */
export interface Request {
  readonly name: string
  readonly input: unknown
  readonly route: string
}

/** What a call came to, and the messages that are handed over with it. */
export interface Answer {
  readonly outcome: ToolPipeline.Outcome
  readonly handed: ReadonlyArray<AgentMessage>
  readonly waiting: number
}

export const make = (
  live: Live,
  agent: Agent,
  options: Pick<External, "quietPeriod" | "source">
): Effect.Effect<External, never, Scope.Scope> =>
  Effect.map(FiberHandle.make(), (timer) => ({
    live,
    agent,
    ...options,
    noCalls: Effect.unsafeMakeLatch(true),
    opened: Effect.unsafeMakeLatch(false),
    timer,
    running: 0,
    step: 0,
    calls: 0,
    moves: 0,
    ofMessage: false,
    fault: undefined
  }))

interface Begun {
  readonly turn: Turn
  readonly prepared: ToolPipeline.PreparedCall
}

/**
 * Runs one call as the agent's own, in the open turn or in a new one. Interrupting it cancels the call: its result says so, and
 * nothing is handed over with it.
 */
export const call = (external: External, request: Request): Effect.Effect<Answer, AgentError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const begun = yield* begin(external, request, restore)
      const cancelled = Effect.as(Deferred.await(begun.turn.cancel), undefined)
      const exit = yield* Effect.exit(restore(Effect.raceFirst(begun.prepared.run, cancelled)))
      if (Exit.isFailure(exit)) {
        yield* finish(external, begun, ToolPipeline.cancelled(begun.prepared.call), false)
        return yield* Effect.interrupt
      }
      const outcome = exit.value
      if (outcome !== undefined) return yield* finish(external, begun, outcome, true)
      yield* LiveAgent.locked(external.live, leave(external))
      return { outcome: ToolPipeline.outcomeUnknown(begun.prepared.call), handed: [], waiting: 0 }
    })
  )

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Maintenance has the idle phase to itself: a call that would open a turn waits for its end. */
const begin = (external: External, request: Request, restore: Restore): Effect.Effect<Begun, AgentError> =>
  Effect.zipRight(
    restore(external.live.available.await),
    Effect.flatMap(LiveAgent.locked(external.live, enter(external, request)), (begun) =>
      begun === undefined ? begin(external, request, restore) : Effect.succeed(begun)
    )
  )

/** One append says that the call was made: with the turn and the step that it opens, where it does. */
const enter = Effect.fnUntraced(function* (external: External, request: Request) {
  const { agent, live } = external
  const { phase } = live
  if (phase._tag === "closed") return yield* new AgentClosed({ sessionId: live.id })
  if (phase._tag === "maintenance") return undefined
  const isNew = phase._tag === "idle"
  const turn = phase._tag === "turn" ? phase : yield* makeTurn(live.counters.turn + 1)
  const step = (isNew ? 0 : external.step) + (external.running === 0 ? 1 : 0)
  const calls = (isNew ? 0 : external.calls) + 1
  const registered = yield* live.runtime.registry.tools(agent)
  const prepared = ToolPipeline.prepare(
    new Map(registered.map((found) => [found.tool.name, found])),
    { callId: `call-${turn.turn}-${calls}`, name: request.name, input: request.input },
    live.runtime.config
  )
  yield* LiveAgent.commit(live, [
    ...(isNew ? [AgentEvents.TurnStart.make({ turn: turn.turn, source: external.source, by: "call" })] : []),
    ...(external.running === 0 ? [AgentEvents.StepStart.make({ turn: turn.turn, step })] : []),
    ...callEvents(turn.turn, step, request.route, prepared)
  ])
  Object.assign(external, { step, calls, running: external.running + 1, moves: external.moves + 1 })
  yield* external.noCalls.close
  if (isNew) yield* openTurn(external, turn, false)
  return { turn, prepared: { ...prepared, run: Effect.provideService(prepared.run, CurrentAgent, agent) } }
})

const makeTurn = (turn: number): Effect.Effect<Turn> =>
  Effect.map(Effect.all([Deferred.make<string | undefined>(), Deferred.make<void>()]), ([cancel, ended]) => ({
    _tag: "turn",
    turn,
    cancel,
    ended,
    keepInbox: true
  }))

/** What the client decided, as the answer of a model that made the call, so that a model can go on with this session. */
const callEvents = (
  turn: number,
  step: number,
  route: string,
  { call, input }: ToolPipeline.PreparedCall
): ReadonlyArray<EventInput> => [
  AgentEvents.AssistantMessage.make({
    id: call.callId,
    turn,
    step,
    route,
    content: [{ type: "tool-call", callId: call.callId, name: call.name, input: toJson(call.input ?? {}) }],
    finishReason: "tool-calls",
    usage: { inputTokens: null, outputTokens: null }
  }),
  AgentEvents.ToolCall.make({ callId: call.callId, turn, step, name: call.name, input: toJson(input) })
]

const openTurn = (external: External, turn: Turn, ofMessage: boolean): Effect.Effect<void> =>
  Effect.suspend(() => {
    external.live.phase = turn
    external.ofMessage = ofMessage
    external.fault = undefined
    return Effect.zipRight(external.opened.open, LiveAgent.refresh(external.live))
  })

/**
 * Stores what a call came to, and claims what is handed over with it in the same append. A store that refuses ends the turn.
 */
const finish = (
  external: External,
  { turn }: Begun,
  outcome: ToolPipeline.Outcome,
  delivers: boolean
): Effect.Effect<Answer, AgentError> =>
  LiveAgent.locked(
    external.live,
    Effect.suspend(() => {
      const { live } = external
      // Somebody else has answered the call, with the end of its turn.
      if (live.phase !== turn) return Effect.as(leave(external), { outcome, handed: [], waiting: waiting(live) })
      return store(external, turn, outcome, delivers).pipe(
        Effect.tapError((error) => {
          external.fault = errorReason(error)
          return Deferred.succeed(turn.cancel, error.message)
        }),
        Effect.ensuring(leave(external)),
        Effect.map((handed) => ({ outcome, handed, waiting: waiting(live) }))
      )
    })
  )

const waiting = ({ state }: Live): number => state.nextTurn.length + state.nextStep.length

/** A call that ended no longer holds its turn open; the last one leaves it to the quiet period. */
const leave = (external: External): Effect.Effect<void> =>
  Effect.suspend(() => {
    external.running -= 1
    external.moves += 1
    if (external.running > 0) return Effect.void
    const { moves } = external
    const expire = Effect.delay(
      Effect.suspend(() => endQuiet(external, moves)),
      external.quietPeriod
    )
    return Effect.zipRight(external.noCalls.open, FiberHandle.run(external.timer, Effect.interruptible(expire)))
  })

const store = Effect.fnUntraced(function* (
  external: External,
  turn: Turn,
  outcome: ToolPipeline.Outcome,
  delivers: boolean
) {
  const { live } = external
  const isLast = external.running === 1
  const hands = delivers && !(yield* Deferred.isDone(turn.cancel))
  const nextStep = hands ? live.state.nextStep : []
  const queued = hands && isLast && !external.ofMessage ? live.state.nextTurn.slice(0, 1) : []
  const value = "value" in outcome ? { value: toJson(outcome.value) } : {}
  const done = [
    AgentEvents.ToolResult.make({ ...outcome, ...value }),
    ...(isLast ? [AgentEvents.StepEnd.make({ turn: turn.turn, step: external.step })] : [])
  ]
  const [opener] = queued
  if (opener === undefined) {
    const claimed = claim(turn.turn, { nextTurn: [], nextStep })
    yield* LiveAgent.commit(live, [...done, ...claimed.splices, ...claimed.messages])
    return nextStep
  }
  const next = yield* makeTurn(turn.turn + 1)
  const claimed = claim(next.turn, { nextTurn: queued, nextStep })
  yield* LiveAgent.commit(live, [
    ...done,
    AgentEvents.TurnEnd.make({ turn: turn.turn, reason: { kind: "completed" } }),
    ...claimed.splices,
    AgentEvents.TurnStart.make({ turn: next.turn, source: opener.source }),
    ...claimed.messages
  ])
  Object.assign(external, { step: 0, calls: 0 })
  yield* openTurn(external, next, true)
  yield* Deferred.succeed(turn.ended, undefined)
  return [...nextStep, ...queued]
})

/** The quiet period is over: the turn ends, unless a call came meanwhile. */
const endQuiet = (external: External, moves: number): Effect.Effect<void> =>
  LiveAgent.untilStored(
    LiveAgent.locked(
      external.live,
      Effect.suspend(() => {
        const { phase } = external.live
        return phase._tag === "turn" && external.moves === moves ? complete(external, phase) : Effect.void
      })
    )
  ).pipe(
    // The turn stays open until a call or the next resume closes it.
    Effect.catchAll((error) => Effect.logWarning("a quiet turn could not be closed in the log", error))
  )

const complete = (external: External, turn: Turn): Effect.Effect<void, AppendError> =>
  Effect.gen(function* () {
    const { live } = external
    yield* LiveAgent.commit(live, [AgentEvents.TurnEnd.make({ turn: turn.turn, reason: { kind: "completed" } })])
    yield* LiveAgent.becomeIdle(live, waiting(live) > 0)
    yield* Deferred.succeed(turn.ended, undefined)
  })

/**
 * Watches the turns that calls open, to close them where they are cancelled or the agent is disposed.
 */
export const drive = (external: External): Effect.Effect<void, AppendError> =>
  Effect.forever(
    Effect.zipRight(
      external.opened.await,
      Effect.suspend(() => {
        const { phase } = external.live
        return phase._tag === "turn" ? watch(external, phase) : external.opened.close
      })
    )
  )

const watch = (external: External, turn: Turn): Effect.Effect<void, AppendError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const ended = Effect.as(Deferred.await(turn.ended), undefined)
      const waited = yield* Effect.exit(restore(Effect.raceFirst(Deferred.await(turn.cancel), ended)))
      if (Exit.isSuccess(waited) && waited.value === undefined) return
      const cause = Exit.isSuccess(waited) ? (waited.value ?? "") : AgentEvents.disposedCause
      const isQuiet = external.running === 0
      yield* Deferred.succeed(turn.cancel, cause)
      // Not before the handlers have stopped and what they answered is stored.
      yield* external.noCalls.await
      const close = Effect.suspend(() => closeCancelled(external, turn, cause, Exit.isFailure(waited) && isQuiet))
      if (Exit.isSuccess(waited)) {
        return yield* Effect.ensuring(restore(LiveAgent.untilStored(close)), Deferred.succeed(turn.ended, undefined))
      }
      yield* Effect.catchAll(close, (error) => Effect.logWarning("the turn could not be closed in the log", error))
      yield* Deferred.succeed(turn.ended, undefined)
      return yield* Effect.interrupt
    })
  )

/** A client that leaves between two calls has completed its turn, if it has shown that it read what was handed to it. */
const closeCancelled = (external: External, turn: Turn, cause: string, isQuietEnd: boolean) => {
  const { live } = external
  const isComplete = isQuietEnd && live.phase === turn && live.state.open?.claimed.length === 0
  const reason: AgentEvents.TurnEndReason = isComplete
    ? { kind: "completed" }
    : (external.fault ?? { kind: "aborted", cause })
  return LiveAgent.closeTurn(live, turn.turn, reason)
}
