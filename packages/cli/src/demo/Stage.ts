/**
 * Where a scripted story is shown: live at a terminal, as plain text elsewhere.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import type { Jobs } from "@afterturn/jobs/Jobs"
import type { ReadError, SessionLog } from "@afterturn/session-log/SessionLog"
import { Todo } from "@afterturn/todo/Todo"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Happening } from "../chat/ChatState.js"
import * as Display from "../chat/Display.js"
import * as Feed from "../chat/Feed.js"
import * as Keyboard from "../chat/Keyboard.js"
import * as Plain from "../chat/Plain.js"
import * as Race from "../chat/Race.js"
import * as Row from "../chat/Row.js"
import * as RunningJobs from "../chat/RunningJobs.js"
import * as SafeText from "../chat/SafeText.js"
import * as Transcript from "../chat/Transcript.js"
import { Tty } from "../chat/Tty.js"
import type { StdoutClosed } from "../Output.js"
import { Output } from "../Output.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Stage {
  /** Whether a person watches it live. */
  readonly live: boolean
  readonly happen: (happening: Happening) => Effect.Effect<void>
  /** A line of the narrator. */
  readonly say: (text: string) => Effect.Effect<void>
  /** Time to read, where somebody watches. */
  readonly pause: (duration: Duration.DurationInput) => Effect.Effect<void>
}

/**
 * Plays a story. At a terminal, which has to be there then, Ctrl-C ends it.
 *
 * @since 0.1.0
 * @category running
 */
export const atTerminal = <A, E, R>(
  title: string,
  story: (stage: Stage) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Tty | Output> =>
  Effect.scoped(
    Effect.gen(function* () {
      const tty = yield* Tty
      const { colour } = yield* Output
      const happenings = yield* Display.makeHappenings
      const stopped = yield* Deferred.make<never>()
      yield* Effect.forkScoped(
        Keyboard.read(tty.input, (key) =>
          key._tag === "Press" && key.name === "interrupt" ? Deferred.interrupt(stopped) : Effect.void
        )
      )
      const options = { title, transcript: Transcript.make(), happenings, color: colour, input: false }
      // By its interruption it shows what is still to be shown.
      yield* Effect.forkScoped(Display.run({ ...options, perform: () => Effect.void }))
      const stage = make(true, (happening) => happenings.offer(happening))
      return yield* Race.first<A, E, R>(story(stage), Deferred.await(stopped))
    })
  )

/**
 * Plays a story where nobody watches: without pauses.
 *
 * @since 0.1.0
 * @category running
 */
export const plainly = <A, E, R>(
  story: (stage: Stage) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | StdoutClosed, R | Output> =>
  Effect.gen(function* () {
    const printer = yield* Plain.makePrinter(Transcript.make())
    const stage = make(false, (happening) => {
      switch (happening._tag) {
        case "Output":
          return printer.add(happening.item)
        case "Note":
          return printer.print(happening.lines)
        default:
          return Effect.void
      }
    })
    return yield* Race.first<A, E | StdoutClosed, R>(story(stage), printer.closed)
  })

const make = (live: boolean, happen: (happening: Happening) => Effect.Effect<unknown>): Stage => ({
  live,
  happen: (happening) => Effect.asVoid(happen(happening)),
  say: (text) => Effect.asVoid(happen({ _tag: "Note", lines: narration(text) })),
  pause: (duration) => (live ? Effect.sleep(duration) : Effect.void)
})

const narration = (text: string): ReadonlyArray<Row.Line> => [
  Row.line(""),
  ...Row.lines(SafeText.clean(text), { label: Row.span("▌ ", "accent"), style: "accent" })
]

/**
 * Shows what an agent does from `fromSeq` on, until the scope closes.
 *
 * @since 0.1.0
 * @category running
 */
export const watch = (
  stage: Stage,
  agent: Agent,
  fromSeq: number
): Effect.Effect<Feed.Feed, never, SessionLog | Todo | Jobs | Scope.Scope> =>
  Effect.gen(function* () {
    const todo = yield* Todo
    const feed = yield* Feed.follow(agent, fromSeq, (item) => stage.happen({ _tag: "Output", item }))
    const status = Stream.runForEach(agent.statusChanges, (status) => stage.happen({ _tag: "Status", status }))
    const todos = Stream.runForEach(todo.changes(agent.id), ({ todos }) =>
      stage.happen({ _tag: "Todos", todos: todos ?? [] })
    )
    yield* Effect.forkScoped(status)
    yield* Effect.forkScoped(todos)
    yield* Effect.forkScoped(
      Stream.runForEach(RunningJobs.changes(agent), (jobs) => stage.happen({ _tag: "Jobs", jobs }))
    )
    return feed
  })

/**
 * Waits until the agent is quiet and all that it did was shown.
 *
 * @since 0.1.0
 * @category running
 */
export const quiet = (stage: Stage, agent: Agent, feed: Feed.Feed): Effect.Effect<void, ReadError> =>
  agent.whenIdle.pipe(Effect.zipRight(feed.sync), Effect.zipRight(stage.happen({ _tag: "Status", status: "idle" })))
