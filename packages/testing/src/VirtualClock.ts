/**
 * Time that passes only when a test says so, for simulations of months with many thousands of wake-ups.
 *
 * ```ts
 * it.live("reminds each morning", () =>
 *   VirtualClock.run(
 *     Effect.gen(function* () {
 *       // … fork what waits for time …
 *       yield* VirtualClock.advance("365 days")
 *       // … see what happened …
 *     }),
 *     { start: "2026-01-01T00:00:00.000Z" }
 *   ))
 * ```
 *
 * Timers fire one by one in order of due time, then of their start, and between two of them all woken work comes to
 * rest: no task waits in the fibers' scheduler, no file system request of this process is under way, and a few rounds of
 * the event loop pass without either. Work that waits for anything else (a socket, a child process, another thread)
 * looks like rest; give a `busy` probe for it. Fibers that were started outside of this clock keep the real one and are
 * not waited for.
 *
 * This is the test kit: the event loop is turned here with `setImmediate`, which the other packages have no use for.
 *
 * @since 0.1.0
 */
import { toMillis } from "@afterturn/session-log/Instant"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import type { Dice } from "./Dice.js"
import type { CountedScheduler } from "./internal/countingScheduler.js"
import { CountingScheduler } from "./internal/countingScheduler.js"
import { SeededScheduler } from "./internal/seededScheduler.js"
import { TimerHeap } from "./internal/timerHeap.js"

/**
 * How a virtual clock begins and how it tells rest.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The first instant, as UTC text or milliseconds since the epoch. Default: 2026-01-01T00:00:00.000Z. */
  readonly start?: string | number
  /** Rounds of the event loop without activity that count as rest. Default: 2. */
  readonly idleRounds?: number
  /** Whether work is under way that neither the scheduler nor the file system shows. Default: never. */
  readonly busy?: Effect.Effect<boolean>
  /** Decides which of the fibers that are ready goes on, and how far. Default: in their order, as far as Effect's own scheduler lets them. */
  readonly interleaving?: Dice
  /** Real time after which work that never rests is a defect. Default: 10 seconds. */
  readonly patience?: Duration.DurationInput
}

/**
 * Holds the time of a test. Each operation first lets all work come to rest, and dies when it never does; operations of
 * several fibers take turns.
 *
 * @since 0.1.0
 * @category tags
 */
export class VirtualClock extends Context.Tag("@afterturn/testing/VirtualClock")<
  VirtualClock,
  {
    /** Lets all work that needs no time run until it waits. */
    readonly settle: Effect.Effect<void>
    /** Lets time pass and fires the timers that come due. Returns at once when there are none. */
    readonly advance: (duration: Duration.DurationInput) => Effect.Effect<void>
    /** Lets time pass until an instant. An instant that has passed is a defect: use `setTime`. */
    readonly advanceTo: (instant: string | number) => Effect.Effect<void>
    /** Lets time pass until the next timer and fires it; `false` when there is none. */
    readonly advanceToNext: Effect.Effect<boolean>
    /** The instants at which timers are due, in order, in milliseconds since the epoch. */
    readonly pending: Effect.Effect<ReadonlyArray<number>>
    /**
     * Sets the wall clock back or forward, as a person or a time server does: no time passes, nothing fires, and what
     * sleeps still sleeps as long. `Clock.currentTimeNanos` does not follow, as the real one doesn't.
     */
    readonly setTime: (instant: string | number) => Effect.Effect<void>
    /**
     * Lets time pass from timer to timer as long as the effect runs. A defect when it waits and no timer is left: it
     * would wait for ever.
     */
    readonly drive: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}

/**
 * Lets all work that needs no time run until it waits.
 *
 * @since 0.1.0
 * @category time
 */
export const settle: Effect.Effect<void, never, VirtualClock> = Effect.flatMap(VirtualClock, (clock) => clock.settle)

/**
 * Lets time pass and fires the timers that come due. Returns at once when there are none.
 *
 * @since 0.1.0
 * @category time
 */
export const advance = (duration: Duration.DurationInput): Effect.Effect<void, never, VirtualClock> =>
  Effect.flatMap(VirtualClock, (clock) => clock.advance(duration))

/**
 * Lets time pass until an instant, given as UTC text or milliseconds since the epoch. An instant that has passed is a
 * defect.
 *
 * @since 0.1.0
 * @category time
 */
export const advanceTo = (instant: string | number): Effect.Effect<void, never, VirtualClock> =>
  Effect.flatMap(VirtualClock, (clock) => clock.advanceTo(instant))

/**
 * Lets time pass until the next timer and fires it; `false` when there is none.
 *
 * @since 0.1.0
 * @category time
 */
export const advanceToNext: Effect.Effect<boolean, never, VirtualClock> = Effect.flatMap(
  VirtualClock,
  (clock) => clock.advanceToNext
)

/**
 * The instants at which timers are due, in order, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category time
 */
export const pending: Effect.Effect<ReadonlyArray<number>, never, VirtualClock> = Effect.flatMap(
  VirtualClock,
  (clock) => clock.pending
)

/**
 * Sets the wall clock back or forward without letting time pass.
 *
 * @since 0.1.0
 * @category time
 */
export const setTime = (instant: string | number): Effect.Effect<void, never, VirtualClock> =>
  Effect.flatMap(VirtualClock, (clock) => clock.setTime(instant))

/**
 * Lets time pass from timer to timer as long as the effect runs.
 *
 * @since 0.1.0
 * @category time
 */
export const drive = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | VirtualClock> =>
  Effect.flatMap(VirtualClock, (clock) => clock.drive(effect))

/**
 * Runs an effect and all that it forks on a virtual clock of its own.
 *
 * @since 0.1.0
 * @category running
 */
export const run = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options?: Options
): Effect.Effect<A, E, Exclude<R, VirtualClock>> =>
  Effect.suspend(() => {
    const { clock, scheduler, service } = make(options)
    return effect.pipe(
      Effect.provideService(VirtualClock, service),
      Effect.withClock(clock),
      Effect.withScheduler(scheduler)
    )
  })

/**
 * A virtual clock for what is built on top of this layer (`Layer.provideMerge`) and runs with it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<VirtualClock> =>
  Layer.unwrapEffect(
    Effect.sync(() => {
      const { clock, scheduler, service } = make(options)
      return Layer.succeed(VirtualClock, service).pipe(
        Layer.provideMerge(Layer.setClock(clock)),
        Layer.provideMerge(Layer.setScheduler(scheduler))
      )
    })
  )

const defaultStart = "2026-01-01T00:00:00.000Z"

/** What a virtual clock is made of. `elapsed` only grows; the wall clock reads `wallOffset` more. */
interface Timeline {
  readonly timers: TimerHeap
  readonly start: number
  elapsed: number
  wallOffset: number
}

const make = (options: Options = {}) => {
  const start = parseInstant(options.start ?? defaultStart)
  const timeline: Timeline = { timers: new TimerHeap(), start, elapsed: 0, wallOffset: start }
  const scheduler =
    options.interleaving === undefined ? new CountingScheduler() : new SeededScheduler(options.interleaving)
  return { clock: makeClock(timeline), scheduler, service: makeService(timeline, rest(timeline, scheduler, options)) }
}

const parseInstant = (instant: string | number): number => {
  const millis = typeof instant === "string" ? toMillis(instant) : instant
  if (!Number.isSafeInteger(millis)) {
    throw new TypeError(`expected milliseconds or a UTC instant like ${defaultStart}, got ${JSON.stringify(instant)}`)
  }
  return millis
}

const wallTime = (timeline: Timeline): number => timeline.elapsed + timeline.wallOffset

const wallText = (timeline: Timeline): string => new Date(wallTime(timeline)).toISOString()

const makeClock = (timeline: Timeline): Clock.Clock => {
  const unsafeCurrentTimeMillis = () => wallTime(timeline)
  const unsafeCurrentTimeNanos = () => BigInt(timeline.start + timeline.elapsed) * 1_000_000n
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis,
    unsafeCurrentTimeNanos,
    currentTimeMillis: Effect.sync(unsafeCurrentTimeMillis),
    currentTimeNanos: Effect.sync(unsafeCurrentTimeNanos),
    sleep: (duration) => sleep(timeline, wholeMillis(duration))
  }
}

/** A timer never fires early, so what is less than a millisecond counts as one. */
const wholeMillis = (duration: Duration.DurationInput): number => Math.ceil(Duration.toMillis(duration))

const sleep = (timeline: Timeline, millis: number): Effect.Effect<void> =>
  millis <= 0
    ? Effect.yieldNow()
    : Effect.async<void>((resume) => {
        if (millis === Number.POSITIVE_INFINITY) return
        const timer = timeline.timers.add(timeline.elapsed + millis, () => resume(Effect.void))
        return Effect.sync(() => timeline.timers.remove(timer))
      })

/** One round of the event loop. */
const round: Effect.Effect<void> = Effect.async<void>((resume) => {
  const handle = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(handle))
})

/** Requests that end by themselves and wake someone; they are listed until they have. */
const usesFiles = (): boolean =>
  process.getActiveResourcesInfo().some((resource) => resource.startsWith("FSReq") || resource === "CloseReq")

/** The real clock, which measures how long a test has been patient. */
const realClock = Clock.make()

/** Waits until all work rests. */
const rest = (timeline: Timeline, scheduler: CountedScheduler, options: Options): Effect.Effect<void> => {
  const { busy } = options
  const idleRounds = options.idleRounds ?? 2
  const patience = Duration.toMillis(options.patience ?? "10 seconds")
  const restless = (why: string) =>
    Effect.dieMessage(`work did not come to rest within ${patience} ms of real time at ${wallText(timeline)}: ${why}`)
  const since = (began: number) => realClock.unsafeCurrentTimeMillis() - began

  // Turned by hand: this runs between any two timers, and a fiber that waits for each round costs more than they do.
  const idle = Effect.async<void>((resume) => {
    const began = realClock.unsafeCurrentTimeMillis()
    let seen = scheduler.scheduled
    let quiet = 0
    const turn = () => {
      const active = scheduler.isRunning() || scheduler.scheduled !== seen || usesFiles()
      seen = scheduler.scheduled
      quiet = active ? 0 : quiet + 1
      if (quiet >= idleRounds) resume(Effect.void)
      else if (active && since(began) > patience) resume(Effect.suspend(() => restless(unrest(scheduler))))
      else handle = setImmediate(turn)
    }
    let handle = setImmediate(turn)
    return Effect.sync(() => clearImmediate(handle))
  })
  if (busy === undefined) return idle

  return Effect.gen(function* () {
    const began = realClock.unsafeCurrentTimeMillis()
    yield* idle
    while (yield* busy) {
      if (since(began) > patience) return yield* restless("the busy probe says that there is more to wait for")
      yield* idle
    }
  })
}

const unrest = (scheduler: CountedScheduler): string =>
  scheduler.isRunning() ? "some fiber goes on without waiting for time" : "a file system request does not end"

const makeService = (timeline: Timeline, settled: Effect.Effect<void>): typeof VirtualClock.Service => {
  const { timers } = timeline
  const turns = Effect.unsafeMakeSemaphore(1)
  let waiting = 0

  /** One operation at a time, run on the real scheduler: its own steps are no activity of the program's. */
  const operation = <A>(step: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.acquireUseRelease(
      Effect.sync(() => waiting++),
      () => turns.withPermits(1)(Effect.zipRight(settled, step)),
      () => Effect.sync(() => waiting--)
    ).pipe(
      // Whoever asks again at once would get the permit before the one that was woken for it.
      Effect.zipLeft(Effect.suspend(() => (waiting > 0 ? round : Effect.void))),
      Effect.withScheduler(Scheduler.defaultScheduler)
    )

  const fireNext = (until: number): boolean => {
    const timer = timers.peek()
    if (timer === undefined || timer.due > until) return false
    timers.remove(timer)
    timeline.elapsed = timer.due
    timer.fire()
    return true
  }

  /** `until` is read once all work rests: only then is it known what time it is. */
  const advanceUntil = (until: () => number) =>
    operation(
      Effect.gen(function* () {
        const end = until()
        while (fireNext(end)) yield* settled
        timeline.elapsed = end
      })
    )

  const advanceToNext = operation(
    Effect.suspend(() => (fireNext(Number.POSITIVE_INFINITY) ? Effect.as(settled, true) : Effect.succeed(false)))
  )

  return {
    settle: operation(Effect.void),
    advance: (duration) => {
      const millis = wholeMillis(duration)
      return Number.isSafeInteger(millis)
        ? advanceUntil(() => timeline.elapsed + millis)
        : Effect.dieMessage("time can't advance without end")
    },
    advanceTo: (instant) =>
      advanceUntil(() => {
        const end = parseInstant(instant) - timeline.wallOffset
        if (end < timeline.elapsed) throw new RangeError(`${instant} has passed: it is ${wallText(timeline)}`)
        return end
      }),
    advanceToNext,
    pending: operation(Effect.sync(() => timers.dues().map((due) => due + timeline.wallOffset))),
    setTime: (instant) =>
      operation(
        Effect.sync(() => {
          timeline.wallOffset = parseInstant(instant) - timeline.elapsed
        })
      ),
    drive: (effect) =>
      driven(
        effect,
        // Work that ended while it came to rest is not followed by another timer.
        (ended) => operation(Effect.sync(() => ended() || fireNext(Number.POSITIVE_INFINITY) || waiting > 1)),
        Effect.suspend(() =>
          Effect.dieMessage(
            `deadlock at ${wallText(timeline)}: the effect waits for something that is neither a timer nor seen as busy`
          )
        )
      )
  }
}

/**
 * Takes steps until the effect ends. A step tells whether anything can still happen: a timer fired, or other fibers wait
 * for their turn with the clock.
 */
const driven = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  step: (ended: () => boolean) => Effect.Effect<boolean>,
  deadlock: Effect.Effect<never>
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.fork(restore(effect)), (fiber) => {
      const ended = () => fiber.unsafePoll() !== null
      const steps = Effect.gen(function* () {
        while (!ended()) {
          if (!(yield* step(ended))) return yield* deadlock
        }
        return yield* Fiber.join(fiber)
      })
      return Effect.onExit(restore(steps), () => (ended() ? Effect.void : Fiber.interrupt(fiber)))
    })
  )
