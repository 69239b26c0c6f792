/**
 * An agent whose time a test holds: say something, let an hour or a year pass, read what happened.
 *
 * ```ts
 * it.live("answers and keeps its list", () =>
 *   TimeTravel.run(runtime, (travel) =>
 *     Effect.gen(function* () {
 *       yield* travel.say("Plan my day.")
 *       yield* travel.advance("8 hours")
 *       assert.strictEqual(yield* travel.transcript(), `…`)
 *     })
 *   ))
 * ```
 *
 * @since 0.1.0
 */
import type { Agent, AgentError } from "@afterturn/agent/Agent"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import type { ResumeError } from "@afterturn/agent/Agents"
import { Agents } from "@afterturn/agent/Agents"
import { toMillis } from "@afterturn/session-log/Instant"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import type { CreateOptions, ReadError, SessionExists } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Transcript from "./Transcript.js"
import * as VirtualClock from "./VirtualClock.js"

/**
 * The clock that a journey goes by.
 *
 * @since 0.1.0
 * @category models
 */
export interface Time {
  /** Lets all work run that needs no time. */
  readonly settle: Effect.Effect<void>
  /** Lets time pass; what is woken runs until it waits again. */
  readonly advance: (duration: Duration.DurationInput) => Effect.Effect<void>
  /** Lets time pass until an instant, given as UTC text. */
  readonly advanceTo: (instant: string) => Effect.Effect<void>
}

/**
 * A session under way.
 *
 * @since 0.1.0
 * @category models
 */
export interface TimeTravel extends Time {
  /** The agent that drives the session now: another one after `restart`. */
  readonly agent: Effect.Effect<Agent>
  /** Says something as the user, and lets all work run that it starts and that needs no time. */
  readonly say: (text: string) => Effect.Effect<void, AgentError>
  /** Disposes the agent and resumes its session, as a process that ends in order and starts again. */
  readonly restart: Effect.Effect<void, ResumeError>
  /** The session's log. */
  readonly events: Effect.Effect<ReadonlyArray<SessionEvent>, ReadError>
  /** The session's log as text that is the same in every run. */
  readonly transcript: (options?: Transcript.TranscriptOptions) => Effect.Effect<string, ReadError>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends VirtualClock.Options {
  /** How the session begins. */
  readonly session?: CreateOptions
}

/**
 * Runs a scenario on the kit's virtual clock: a runtime is built, a session begun, and all of it ended in order.
 *
 * @since 0.1.0
 * @category running
 */
export const run = <Provided, E1, A, E, R>(
  runtime: Layer.Layer<Agents | SessionLog | Provided, E1>,
  scenario: (travel: TimeTravel) => Effect.Effect<A, E, R>,
  options?: Options
): Effect.Effect<
  A,
  E | E1 | SessionExists | SessionStoreError | ResumeError,
  Exclude<Exclude<Exclude<R, Agents | SessionLog | Provided>, Scope.Scope>, VirtualClock.VirtualClock>
> =>
  Effect.flatMap(VirtualClock.VirtualClock, (clock) =>
    journey(runtime, scenario, { ...clock, advanceTo: (instant) => clock.advanceTo(instant) }, options)
  ).pipe((scenario) => VirtualClock.run(scenario, options))

/**
 * The same under Effect's own `TestClock`, which the caller's test provides (`it.effect`, `it.scoped`).
 *
 * @since 0.1.0
 * @category running
 */
export const runTestClock = <Provided, E1, A, E, R>(
  runtime: Layer.Layer<Agents | SessionLog | Provided, E1>,
  scenario: (travel: TimeTravel) => Effect.Effect<A, E, R>,
  options?: { readonly session?: CreateOptions; readonly start?: string }
): Effect.Effect<
  A,
  E | E1 | SessionExists | SessionStoreError | ResumeError,
  Exclude<Exclude<R, Agents | SessionLog | Provided>, Scope.Scope>
> =>
  Effect.zipRight(
    options?.start === undefined ? Effect.void : TestClock.setTime(toMillis(options.start)),
    journey(runtime, scenario, testTime, options)
  )

const testTime: Time = {
  settle: TestClock.adjust(Duration.zero),
  advance: TestClock.adjust,
  advanceTo: (instant) => TestClock.setTime(toMillis(instant))
}

const journey = <Provided, E1, A, E, R>(
  runtime: Layer.Layer<Agents | SessionLog | Provided, E1>,
  scenario: (travel: TimeTravel) => Effect.Effect<A, E, R>,
  time: Time,
  options: { readonly session?: CreateOptions } | undefined
) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(runtime)
    const travel = yield* begin(Context.get(context, Agents), Context.get(context, SessionLog), time, options?.session)
    return yield* Effect.provide(scenario(travel), context)
  }).pipe(Effect.scoped)

/** The agent lives in a scope of its own, so that a restart can close it while the runtime stays. */
const begin = (
  agents: Context.Tag.Service<Agents>,
  log: Context.Tag.Service<SessionLog>,
  time: Time,
  session: CreateOptions | undefined
) =>
  Effect.gen(function* () {
    const outer = yield* Effect.scope
    let scope = yield* Scope.fork(outer, outer.strategy)
    let agent = yield* Scope.extend(agents.create(session), scope)
    const { id } = agent
    const events = Effect.map(Stream.runCollect(log.read(id)), Chunk.toReadonlyArray)
    const travel: TimeTravel = {
      ...time,
      agent: Effect.sync(() => agent),
      say: (text) => Effect.zipRight(agent.followup(AgentMessage.user(text)), time.settle),
      restart: Effect.gen(function* () {
        yield* Scope.close(scope, Exit.void)
        scope = yield* Scope.fork(outer, outer.strategy)
        agent = yield* Scope.extend(agents.resume(id), scope)
        yield* time.settle
      }),
      events,
      transcript: (options) => Effect.map(events, (all) => Transcript.render(all, options))
    }
    return travel
  })
