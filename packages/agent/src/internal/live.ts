import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { EventInput, SessionEvent, SessionHeader, SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError, AppendOptions, SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import type * as Context from "effect/Context"
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as EffectSchedule from "effect/Schedule"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { AgentError, AgentOutput, InsertOptions } from "../Agent.js"
import { AgentBusy, AgentClosed } from "../Agent.js"
import type { AgentOptions } from "../AgentConfig.js"
import * as AgentEvents from "../AgentEvents.js"
import * as AgentLog from "../AgentLog.js"
import type { AgentMessage, NewMessage } from "../AgentMessage.js"
import type { History } from "../History.js"
import type { ToolRegistry } from "../ToolRegistry.js"
import type { Driven } from "./closing.js"
import { claim, closeOpenTurn, discard, discardQueued } from "./closing.js"

/**
 * What the agents of one composition share.
 */
export interface Runtime {
  readonly log: Context.Tag.Service<SessionLog>
  readonly types: Context.Tag.Service<EventTypes>
  readonly registry: Context.Tag.Service<ToolRegistry>
  readonly config: AgentOptions
}

/**
 * What an agent does. In `turn`, `cancel` ends it, with its cause; a turn that is over by itself needs none. `ended` is done once its end is
 * stored.
 */
export type Phase =
  | { readonly _tag: "idle" | "maintenance" | "closed" }
  | {
      readonly _tag: "turn"
      readonly turn: number
      readonly cancel: Deferred.Deferred<string | undefined>
      readonly ended: Deferred.Deferred<void>
      keepInbox: boolean
    }

/**
 * One live agent. The mutable fields change only inside `locked`, together with the append that they mirror: `state` is the fold of
 * the log at all times.
 */
export interface Live<out R extends Runtime = Runtime> {
  readonly id: SessionId
  readonly header: SessionHeader
  readonly runtime: R
  /** Whether messages that wait open turns by themselves. Else somebody outside takes them, and the agent is idle meanwhile. */
  readonly wakesItself: boolean
  readonly lock: Effect.Semaphore
  /** Open while the driver should look whether a turn can be opened. */
  readonly latch: Effect.Latch
  /** Closed while maintenance holds the idle phase. */
  readonly available: Effect.Latch
  readonly output: PubSub.PubSub<AgentOutput>
  readonly status: SubscriptionRef.SubscriptionRef<"idle" | "running">
  state: AgentLog.AgentState
  counters: typeof AgentLog.Counters.Type
  compacted: typeof AgentLog.Compacted.Type
  phase: Phase
  /** The seq of the newest `turn/start`: what the turn claimed stands after it. */
  turnStartSeq: number
  /** Whether something in the inbox asks for a turn. */
  wake: boolean
  /** Read from the log when the first turn needs it. */
  history: History | undefined
}

/**
 * Runs a step of the agent's state machine: alone, and whole. Appends inside it are short; an interruption waits for them, so that
 * memory and log never part.
 */
export const locked = <A, E, R>(live: Live, step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.uninterruptible(live.lock.withPermits(1)(step))

/**
 * Appends events and folds them into the live state. The turn's own fiber may call it outside `locked` for events that touch neither
 * inbox nor turn boundaries.
 */
export const commit = (
  live: Live,
  events: ReadonlyArray<EventInput>,
  options?: AppendOptions
): Effect.Effect<ReadonlyArray<SessionEvent>, AppendError> =>
  live.runtime.log.append(live.id, events, options).pipe(
    Effect.tap((stored) => {
      for (const event of stored) {
        live.state = AgentLog.state.apply(live.state, event)
        live.counters = AgentLog.counters.apply(live.counters, event)
        live.compacted = AgentLog.compacted.apply(live.compacted, event)
        live.history?.add(event)
      }
      return PubSub.publishAll(
        live.output,
        stored.map((event) => ({ _tag: "Event" as const, event }))
      )
    }),
    Effect.uninterruptible
  )

/**
 * Publishes the status and, when a turn can be opened, rouses the driver. Call it at the end of a locked step.
 */
export const refresh = (live: Live): Effect.Effect<void> => {
  const wanted = wantsTurn(live)
  const status =
    live.phase._tag === "turn" || live.phase._tag === "maintenance" || (live.phase._tag === "idle" && wanted)
      ? "running"
      : "idle"
  // A reference publishes each value that it is set to, also one that it has: only changes are to be seen.
  const publish = Effect.flatMap(SubscriptionRef.get(live.status), (current) =>
    current === status ? Effect.void : SubscriptionRef.set(live.status, status)
  )
  return live.phase._tag === "idle" && wanted ? Effect.zipRight(publish, live.latch.open) : publish
}

/** Whether a turn is about to open. */
const wantsTurn = (live: Live): boolean => live.wakesItself && live.wake && hasMessages(live.state)

const hasMessages = (state: AgentLog.AgentState): boolean => state.nextTurn.length > 0 || state.nextStep.length > 0

/**
 * Puts a message into the inbox.
 */
export const insert = (
  live: Live,
  list: AgentEvents.InboxList,
  wake: boolean,
  message: NewMessage,
  options?: InsertOptions
): Effect.Effect<AgentMessage, AgentError> =>
  locked(
    live,
    Effect.gen(function* () {
      if (live.phase._tag === "closed") return yield* new AgentClosed({ sessionId: live.id })
      const stored: AgentMessage = {
        id: AgentLog.messageId(live.counters.message + 1),
        source: message.source,
        content: message.content
      }
      const replaced = new Set(options?.replaces ?? [])
      // What a person says comes first: a round that waits is withdrawn, and its goal opens it anew when the agent is quiet.
      const isHuman = message.source.kind === "user"
      yield* commit(
        live,
        [
          ...discard(live.state, ({ id, source }) => replaced.has(id) || (isHuman && source.kind === "goal-round")),
          AgentEvents.InboxSpliced.make({ list, op: "insert", messages: [stored] }),
          ...(options?.events ?? [])
        ],
        options
      )
      if (wake) live.wake = true
      yield* refresh(live)
      return stored
    })
  )

/**
 * Takes waiting messages out of the inbox. What remains asks for a turn only if it would on a resume.
 */
export const withdraw = (
  live: Live,
  which: (message: AgentMessage) => boolean,
  options?: Omit<InsertOptions, "replaces">
): Effect.Effect<ReadonlyArray<AgentMessage>, AgentError> =>
  locked(
    live,
    Effect.gen(function* () {
      if (live.phase._tag === "closed") return yield* new AgentClosed({ sessionId: live.id })
      const gone = [...live.state.nextStep, ...live.state.nextTurn].filter(which)
      const events = [...discard(live.state, (message) => gone.includes(message)), ...(options?.events ?? [])]
      if (events.length > 0 || options?.expectedSeq !== undefined) yield* commit(live, events, options)
      if (gone.length > 0) {
        live.wake = live.wake && (live.state.nextTurn.length > 0 || live.state.nextStep.some(opensTurnAlone))
        yield* refresh(live)
      }
      return gone
    })
  )

const opensTurnAlone = (message: AgentMessage): boolean => AgentLog.opensTurn("nextStep", message)

/**
 * Opens the next turn, if something asks for one: claims one message of `nextTurn` and all of `nextStep`, in one append with the
 * turn's start. The turn's source is that of the message queued for it, else of the newest one handed in.
 */
export const openTurn = (
  live: Live,
  phase: Extract<Phase, { readonly _tag: "turn" }>
): Effect.Effect<boolean, AppendError> =>
  locked(
    live,
    Effect.gen(function* () {
      yield* live.latch.close
      if (live.phase._tag !== "idle" || !live.wake) return false
      const messages = { nextTurn: live.state.nextTurn.slice(0, 1), nextStep: live.state.nextStep }
      const opener = messages.nextTurn[0] ?? messages.nextStep[messages.nextStep.length - 1]
      if (opener === undefined) {
        live.wake = false
        return false
      }
      const { turn } = phase
      const claimed = claim(turn, messages)
      const stored = yield* commit(live, [
        ...claimed.splices,
        AgentEvents.TurnStart.make({ turn, source: opener.source }),
        ...claimed.messages
      ])
      live.turnStartSeq = stored[claimed.splices.length]?.seq ?? live.turnStartSeq
      live.phase = phase
      yield* refresh(live)
      return true
    })
  )

/**
 * Closes a step. The turn goes on while the model called tools or messages wait for the next step, which are claimed; else it ends.
 * Deciding and writing it down is one step: a message is either claimed here or finds the agent idle.
 */
export const closeStep = (
  live: Live,
  turn: number,
  step: number,
  calledTools: boolean
): Effect.Effect<"continue" | "ended", AppendError> =>
  locked(
    live,
    Effect.gen(function* () {
      const { maxStepsPerTurn } = live.runtime.config
      const stepEnd = AgentEvents.StepEnd.make({ turn, step })
      const goesOn = calledTools || live.state.nextStep.length > 0
      if (goesOn && step < maxStepsPerTurn) {
        const claimed = claim(turn, { nextTurn: [], nextStep: live.state.nextStep })
        yield* commit(live, [stepEnd, ...claimed.splices, ...claimed.messages])
        return "continue"
      }
      const reason: AgentEvents.TurnEndReason = goesOn
        ? { kind: "step-limit", maxSteps: maxStepsPerTurn }
        : { kind: "completed" }
      yield* commit(live, [stepEnd, AgentEvents.TurnEnd.make({ turn, reason })])
      yield* becomeIdle(live, hasMessages(live.state))
      return "ended"
    })
  )

/**
 * Ends the turn that did not end by itself. After an error queued messages wait for the next waking one, for the provider that just
 * failed would fail them as well; after a person's cancel, turns that were queued by others follow.
 */
export const closeTurn = (
  live: Live,
  turn: number,
  reason: AgentEvents.TurnEndReason
): Effect.Effect<void, AppendError> =>
  locked(
    live,
    Effect.suspend(() => {
      const { phase } = live
      if (phase._tag !== "turn" || phase.turn !== turn || live.state.open === null) return Effect.void
      const discards = reason.kind === "aborted" && !phase.keepInbox ? discardQueued(live.state) : []
      return Effect.zipRight(
        commit(live, [...discards, ...closeOpenTurn(live.state.open, reason, drivenBy(live))]),
        Effect.suspend(() => becomeIdle(live, reason.kind !== "error" && live.state.nextTurn.length > 0))
      )
    })
  )

/**
 * Who drives the turns of an agent.
 */
export const drivenBy = (live: Pick<Live, "wakesItself">): Driven => (live.wakesItself ? "by-model" : "from-outside")

/**
 * Leaves a turn or maintenance; `wake`: whether something that waits asks for a turn.
 */
export const becomeIdle = (live: Live, wake: boolean): Effect.Effect<void> =>
  Effect.suspend(() => {
    live.phase = { _tag: "idle" }
    live.wake = wake
    return refresh(live)
  })

/**
 * Cancels what runs, or empties the inbox of an idle agent. The turn ends once its end is stored; waiting for it is the caller's.
 */
export const cancel = (
  live: Live,
  keepInbox: boolean
): Effect.Effect<Extract<Phase, { readonly _tag: "turn" }> | undefined, AgentError> =>
  locked(
    live,
    Effect.gen(function* () {
      const { phase } = live
      if (phase._tag === "closed") return yield* new AgentClosed({ sessionId: live.id })
      if (phase._tag === "turn") {
        phase.keepInbox = keepInbox
        return phase
      }
      const discards = keepInbox ? [] : discardQueued(live.state)
      if (discards.length > 0) yield* commit(live, discards)
      yield* refresh(live)
      return undefined
    })
  )

/**
 * Runs an effect in the idle phase.
 */
export const maintenance = <A, E, R>(live: Live, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | AgentBusy, R> =>
  Effect.acquireUseRelease(
    locked(
      live,
      Effect.suspend(() => {
        if (live.phase._tag !== "idle" || wantsTurn(live)) {
          return Effect.fail(new AgentBusy({ sessionId: live.id }))
        }
        live.phase = { _tag: "maintenance" }
        return Effect.zipRight(live.available.close, refresh(live))
      })
    ),
    () => effect,
    () =>
      locked(
        live,
        Effect.zipRight(
          live.available.open,
          Effect.suspend(() => (live.phase._tag === "maintenance" ? becomeIdle(live, live.wake) : Effect.void))
        )
      )
  )

/**
 * Nothing is accepted any more.
 */
export const close = (live: Live): Effect.Effect<void> =>
  locked(
    live,
    Effect.suspend(() => {
      live.phase = { _tag: "closed" }
      return refresh(live)
    })
  )

/**
 * A store that is busy or full is tried again until it takes the write, one that fails in another way for a while; anything else is
 * final at once.
 */
export const untilStored = <A, R>(append: Effect.Effect<A, AppendError, R>): Effect.Effect<A, AppendError, R> =>
  append.pipe(Effect.retry(whileUnavailable), Effect.retry(whileBusy))

const failsFor =
  (...reasons: ReadonlyArray<SessionStoreError["reason"]>) =>
  (error: AppendError): boolean =>
    error instanceof SessionStoreError && reasons.includes(error.reason)

const whileUnavailable = {
  schedule: EffectSchedule.exponential("100 millis").pipe(EffectSchedule.jittered, EffectSchedule.upTo("10 seconds")),
  while: failsFor("unavailable")
}

const whileBusy = {
  schedule: EffectSchedule.exponential("100 millis").pipe(
    EffectSchedule.union(EffectSchedule.spaced("30 seconds")),
    EffectSchedule.jittered
  ),
  while: failsFor("busy", "full")
}
