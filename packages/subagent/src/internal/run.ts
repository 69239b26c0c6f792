import type { AgentError } from "@afterturn/agent/Agent"
import type { NewMessage } from "@afterturn/agent/AgentMessage"
import type { JobContext, JobId } from "@afterturn/jobs/Job"
import type { StartError } from "@afterturn/jobs/JobsError"
import { Projections } from "@afterturn/session-log/Projection"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { AgentUnavailable } from "../SubagentError.js"
import { SubagentRun } from "../SubagentEvents.js"
import { below, sum } from "../SubagentTree.js"
import type { Place, Resident, Runtime } from "./live.js"
import type { Look } from "./look.js"
import { look, moved } from "./look.js"
import { report } from "./outcome.js"
import type { BringUpError, ChildRef } from "./resident.js"
import { bringUp, putDown, wasAddressed } from "./resident.js"

/** What the job of a child holds. */
interface Held {
  readonly resident: Resident
  /** Done once the child has the message. */
  readonly delivered: Deferred.Deferred<void, AgentError | ReadError | AgentUnavailable>
  hasBegun: boolean
}

export interface Started {
  readonly resident: Resident
  readonly jobId: JobId
}

export type RunError = StartError | BringUpError | AgentError | ReadError

/**
 * Puts a child to work: a job of its parent that ends when the child is quiet. Answers once the child has the message; without one it has
 * begun by itself. Hold the lock.
 */
export const startRun = (
  runtime: Runtime,
  place: Place,
  child: ChildRef,
  message: NewMessage | undefined
): Effect.Effect<Started, RunError> =>
  Effect.gen(function* () {
    const { held, snapshot } = yield* Effect.suspend(() => {
      let held: Held | undefined
      const started = runtime.jobs.start({
        kind: "subagent",
        label: child.label,
        owner: place.agent.id,
        prepare: (jobId) =>
          Effect.map(hold(runtime, place, child), (made) => {
            held = made
            const { id: agentId, label } = made.resident
            return { held: made, events: [SubagentRun.make({ agentId, jobId, label })] }
          }),
        run: (context, made) => work(runtime, place, made, message, context)
      })
      return Effect.map(started, (snapshot) => ({ snapshot, held: held! }))
    })
    yield* Deferred.await(held.delivered)
    return { resident: held.resident, jobId: snapshot.id }
  })

/** The child, alive. A job that does not begin leaves nothing of one that it made. */
const hold = (runtime: Runtime, place: Place, child: ChildRef): Effect.Effect<Held, BringUpError, Scope.Scope> =>
  Effect.gen(function* () {
    const delivered = yield* Deferred.make<void, AgentError | ReadError | AgentUnavailable>()
    const known = child._tag === "Known" ? place.residents.get(child.id) : undefined
    const resident = known ?? (yield* bringUp(runtime, place, child))
    const held: Held = { resident, delivered, hasBegun: false }
    yield* Effect.addFinalizer(() =>
      held.hasBegun
        ? Effect.void
        : Effect.zipRight(
            // A job that is ended before its first step delivers nothing, and nobody may wait for it then.
            Deferred.fail(delivered, notBegun(resident)),
            known === undefined ? giveUp(runtime, place, child, resident) : Effect.void
          )
    )
    return held
  }).pipe(Effect.uninterruptible)

const notBegun = ({ id }: Resident): AgentUnavailable =>
  new AgentUnavailable({ code: "agent_unavailable", agentId: id, reason: "its job was ended before it began" })

/** The lock is held by whoever wanted the job. */
const giveUp = (runtime: Runtime, place: Place, child: ChildRef, resident: Resident): Effect.Effect<void> =>
  Effect.zipRight(
    putDown(place, resident),
    child._tag === "Known"
      ? Effect.void
      : Effect.catchAll(runtime.log.remove(resident.id), (error) =>
          Effect.logWarning(`the empty session of agent "${resident.id}" could not be removed`, error)
        )
  )

/** The job. However it ends before the child is quiet, the child's turn ends as well. */
const work = (
  runtime: Runtime,
  place: Place,
  held: Held,
  message: NewMessage | undefined,
  context: JobContext
): Effect.Effect<string, unknown> =>
  Effect.gen(function* () {
    const { resident } = held
    held.hasBegun = true
    resident.run = context.id
    const begin = Effect.gen(function* () {
      const { asOfSeq } = yield* look(runtime, resident)
      yield* context.setDetail(`agent ${resident.id}`)
      if (message !== undefined) yield* resident.agent.steer(message)
      return asOfSeq
    })
    const sinceSeq = yield* Effect.onExit(begin, (exit) => Deferred.done(held.delivered, answerOf(exit, resident)))
    const end = yield* untilQuiet(runtime, place, resident, sinceSeq)
    const under = yield* Effect.provideService(below(resident.id), Projections, runtime.projections)
    const tokens = sum([end.progress, ...under.map(({ totalTokens }) => totalTokens)])
    return yield* report(context, resident.id, sinceSeq, end, tokens)
  }).pipe(
    Effect.onExit(() => (held.resident.run === context.id ? stop(runtime, place, held.resident, context) : Effect.void))
  )

const answerOf = <E>(exit: Exit.Exit<number, E>, resident: Resident): Exit.Exit<void, E | AgentUnavailable> =>
  Exit.isSuccess(exit)
    ? Exit.void
    : Exit.fail(Option.getOrElse(Cause.failureOption(exit.cause), () => notBegun(resident)))

/**
 * Waits until a child is quiet: no turn of it runs or is about to, and none of its own jobs. A turn that failed or was ended by somebody
 * is the end as well, whatever else runs.
 */
const untilQuiet = Effect.fnUntraced(function* (runtime: Runtime, place: Place, resident: Resident, sinceSeq: number) {
  let isPatient = true
  while (true) {
    yield* resident.agent.whenIdle
    // An agent that was closed is idle for ever: it says so when it is asked for something.
    yield* resident.agent.withdraw(() => false)
    const seen = yield* look(runtime, resident)
    const end = isOver(seen, sinceSeq, isPatient)
      ? yield* conclude(runtime, place, resident, sinceSeq, isPatient)
      : Option.none()
    if (Option.isSome(end)) return end.value
    if (seen.waitsFor === "turn") {
      // It has begun since it was idle. Maintenance leaves no trace in the log.
      yield* Effect.yieldNow()
      continue
    }
    const hasMoved = yield* moved(runtime, resident.id, seen)
    isPatient = hasMoved || seen.waitsFor !== "notice"
  }
})

const isOver = (seen: Look, sinceSeq: number, isPatient: boolean): boolean => {
  const { end } = seen.progress
  if (isQuiet(seen, isPatient)) return true
  const isCutOff = end !== null && end.seq > sinceSeq && (end.reason.kind === "error" || end.reason.kind === "aborted")
  return isCutOff && seen.waitsFor !== "turn"
}

const isQuiet = ({ waitsFor }: Look, isPatient: boolean): boolean =>
  waitsFor === undefined || (waitsFor === "notice" && !isPatient)

/** The end of a run, unless the child has come to something new meanwhile: who sends it a message holds the lock as well. */
const conclude = (runtime: Runtime, place: Place, resident: Resident, sinceSeq: number, isPatient: boolean) =>
  place.lock.withPermits(1)(
    Effect.uninterruptible(
      Effect.gen(function* () {
        const seen = yield* look(runtime, resident)
        if (!isOver(seen, sinceSeq, isPatient)) return Option.none<Look>()
        resident.run = undefined
        yield* settle(runtime, place, resident, seen, isPatient)
        return Option.some(seen)
      })
    )
  )

/**
 * Ends the turn of a child whose job was asked to end, or failed. What the parent has said and the child has not read is taken back, so
 * that it opens no turn; what the child has started runs on.
 */
const stop = (
  runtime: Runtime,
  place: Place,
  resident: Resident,
  { id, killReason }: JobContext
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const reason = yield* killReason
    yield* endTurn(place, resident, reason ?? "its parent's job ended")
    yield* place.lock.withPermits(1)(
      Effect.gen(function* () {
        if (resident.run !== id) return
        resident.run = undefined
        if (!place.closing) yield* settle(runtime, place, resident, yield* look(runtime, resident), true)
      })
    )
  }).pipe(
    Effect.catchAll((error) => Effect.logWarning(`agent "${resident.id}" could not be left in order`, error)),
    Effect.uninterruptible
  )

export const endTurn = ({ agent: parent }: Place, { agent }: Resident, cause: string): Effect.Effect<void> =>
  agent
    .withdraw(({ source }) => source.kind === "agent" && source.sessionId === parent.id)
    .pipe(
      Effect.zipRight(agent.cancel(cause, { keepInbox: true })),
      Effect.catchAll((error) =>
        error._tag === "AgentClosed"
          ? Effect.void
          : Effect.logWarning(`the turn of agent "${agent.id}" could not be ended`, error)
      )
    )

/** Lets a child without a job go once it is quiet, and looks after it until then. Hold the lock. */
const settle = (
  runtime: Runtime,
  place: Place,
  resident: Resident,
  seen: Look,
  isPatient: boolean
): Effect.Effect<void, ReadError> => {
  if (!isQuiet(seen, isPatient) || hasChildren(runtime, resident)) return watch(runtime, place, resident)
  return Effect.zipRight(
    putDown(place, resident),
    // Whoever addressed it in the meantime finds it there.
    Effect.flatMap(wasAddressed(runtime, resident.id, seen.waiting), (wasAddressed) =>
      wasAddressed ? adopt(runtime, place, { _tag: "Known", id: resident.id, label: resident.label }) : Effect.void
    )
  )
}

/** A child with children that are alive is not let go: theirs would end. */
const hasChildren = ({ places }: Runtime, { id }: Resident): boolean => (places.get(id)?.residents.size ?? 0) > 0

const watch = (runtime: Runtime, place: Place, resident: Resident): Effect.Effect<void> =>
  Effect.asVoid(Effect.forkIn(Effect.interruptible(lookAfter(runtime, place, resident)), place.scope))

/** Brings a child to life that has something to go on with. Hold the lock. */
export const adopt = (runtime: Runtime, place: Place, child: ChildRef): Effect.Effect<void> =>
  Effect.flatMap(bringUp(runtime, place, child), (resident) => watch(runtime, place, resident)).pipe(
    Effect.catchAll((error) => Effect.logWarning(`a subagent of session "${place.agent.id}" is not resumed`, error))
  )

/**
 * Looks after a child that no job stands for: one whose job was ended while something of its own ran, or that came back after a crash. When
 * it begins to work by itself it gets a job, as soon as there is room for one; when it is quiet it is let go.
 */
const lookAfter = (runtime: Runtime, place: Place, resident: Resident): Effect.Effect<void> =>
  Effect.gen(function* () {
    let isPatient = true
    while (true) {
      const step: "done" | "full" | Look = yield* place.lock.withPermits(1)(
        lookOnce(runtime, place, resident, isPatient)
      )
      if (step === "done") return
      if (step === "full") yield* untilRoom(runtime, place, resident)
      else {
        const hasMoved: boolean = yield* Effect.raceFirst(moved(runtime, resident.id, step), untilWorking(resident))
        isPatient = hasMoved || step.waitsFor !== "notice"
      }
    }
  }).pipe(Effect.catchAll((error) => Effect.logWarning(`agent "${resident.id}" is no longer looked after`, error)))

const lookOnce = Effect.fnUntraced(function* (
  runtime: Runtime,
  place: Place,
  resident: Resident,
  isPatient: boolean
): Effect.fn.Return<"done" | "full" | Look, RunError> {
  if (place.closing || place.residents.get(resident.id) !== resident || resident.run !== undefined) return "done"
  const seen = yield* look(runtime, resident)
  if (seen.waitsFor === "turn") {
    const known = { _tag: "Known", id: resident.id, label: resident.label } as const
    return yield* startRun(runtime, place, known, undefined).pipe(
      Effect.as("done" as const),
      Effect.catchTag("JobLimitReached", () => Effect.succeed("full" as const))
    )
  }
  if (hasChildren(runtime, resident) || !isQuiet(seen, isPatient)) return seen
  yield* settle(runtime, place, resident, seen, isPatient)
  return "done"
})

const untilWorking = ({ agent }: Resident): Effect.Effect<boolean> =>
  agent.statusChanges.pipe(
    Stream.filter((status) => status === "running"),
    Stream.take(1),
    Stream.runDrain,
    Effect.as(true)
  )

/** A job of the parent has ended, or the child is through without one. */
const untilRoom = ({ jobs }: Runtime, { agent: parent }: Place, { agent }: Resident): Effect.Effect<void> =>
  Effect.raceFirst(
    agent.whenIdle,
    jobs.changes.pipe(
      Stream.filter((owner) => owner === parent.id),
      Stream.take(1),
      Stream.runDrain
    )
  )
