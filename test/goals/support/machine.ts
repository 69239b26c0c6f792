/**
 * A small model of what a goal is, written apart from the rules, and commands that do the same to it and to the service.
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import type { GoalId } from "@afterturn/goals/Goal"
import * as GoalConfig from "@afterturn/goals/GoalConfig"
import * as GoalLog from "@afterturn/goals/GoalLog"
import * as GoalReferee from "@afterturn/goals/GoalReferee"
import * as Goals from "@afterturn/goals/Goals"
import { format } from "@afterturn/session-log/Instant"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fc from "fast-check"
import { breathe } from "../../support/breathe.js"

/** What is expected of a session. */
interface Model {
  clock: number
  lastNumber: number
  goal: undefined | ModelGoal
}

interface ModelGoal {
  readonly number: number
  revision: number
  phase: "active" | "paused" | "blocked" | "complete"
  armed: boolean
  objective: string
  cap: number
  started: number
  tokens: number
  maxTokens: number | undefined
  activeMs: number
  maxMs: number | undefined
  /** When time was last counted. */
  countedAt: number
  createdAt: number
  updatedAt: number
  code: string | undefined
}

/** The service of one process, on a store that outlives it. */
interface Real {
  readonly runtime: Runtime
  readonly session: SessionId
  goals: Context.Tag.Service<typeof Goals.Goals>
  scope: Scope.CloseableScope
  messages: number
}

export type Runtime = ManagedRuntime.ManagedRuntime<Layer.Layer.Success<typeof layerMemory>, never>

const clockAt = (millis: number): Clock.Clock => ({
  ...Clock.make(),
  currentTimeMillis: Effect.succeed(millis),
  unsafeCurrentTimeMillis: () => millis
})

export const makeRuntime = (): Runtime => ManagedRuntime.make(layerMemory)

const process = (runtime: Runtime) =>
  runtime.runPromise(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const layer = Layer.fresh(
        Goals.layer.pipe(
          Layer.provide(Layer.merge(Layer.orDie(GoalConfig.layer({ defaultMaxGoalRounds: 2 })), GoalReferee.layerNone))
        )
      )
      const context = yield* Layer.buildWithScope(layer, scope)
      return { scope, goals: yield* Effect.provide(Goals.Goals, context) }
    })
  )

let sessions = 0

const setup = async (runtime: Runtime): Promise<{ model: Model; real: Real }> => {
  const session = `model-${++sessions}` as SessionId
  await runtime.runPromise(Effect.flatMap(SessionLog, (log) => log.create({ id: session })))
  const started = await process(runtime)
  return {
    model: { clock: 1_000_000, lastNumber: 0, goal: undefined },
    real: { runtime, session, messages: 0, ...started }
  }
}

/** Time passes for an active goal with every event that concerns it. */
const count = (model: Model): void => {
  const { goal } = model
  if (goal?.phase !== "active") return
  goal.activeMs += Math.max(0, model.clock - goal.countedAt)
  goal.countedAt = model.clock
}

const isSpent = (goal: ModelGoal): boolean =>
  goal.started >= goal.cap ||
  (goal.maxTokens !== undefined && goal.tokens >= goal.maxTokens) ||
  (goal.maxMs !== undefined && goal.activeMs >= goal.maxMs)

type Verb = "edit" | "pause" | "resume" | "complete" | "block" | "clear"

/** Which phases a verb may start from; read as a table, not as code. */
const table: { readonly [V in Verb]: string } = {
  edit: "active paused blocked",
  pause: "active",
  resume: "active paused blocked",
  complete: "active paused blocked",
  block: "active",
  clear: "active paused blocked complete"
}

interface Aim {
  /** How far beside the present revision, and the present goal, the caller is. */
  readonly revision: number
  readonly number: number
}

/** Why a verb is refused before it looks at anything else. */
const refusal = ({ goal }: Model, verb: Verb, aim: Aim): string | undefined => {
  if (goal === undefined) return "NoGoal"
  if (aim.revision !== 0 || aim.number !== 0) return "StaleGoal"
  return table[verb].split(" ").includes(goal.phase) ? undefined : "GoalTransition"
}

const move = (model: Model, goal: ModelGoal): void => {
  goal.revision++
  goal.updatedAt = Math.max(goal.updatedAt, model.clock)
}

const run = <A, E>(real: Real, model: Model, effect: Effect.Effect<A, E, SessionLog>) =>
  real.runtime.runPromise(Effect.either(Effect.withClock(effect, clockAt(model.clock))))

/** Both sides must say the same of the goal. */
const compare = async (model: Model, real: Real): Promise<void> => {
  const found = await run(real, model, real.goals.get(real.session))
  const seen = found._tag === "Left" ? found.left : found.right
  const { goal } = model
  const expected =
    goal === undefined
      ? undefined
      : {
          id: `goal-${goal.number}`,
          revision: goal.revision,
          objective: goal.objective,
          phase: goal.phase,
          ...(goal.code === undefined ? {} : { blockedReason: { code: goal.code, message: "because" } }),
          maxGoalRounds: goal.cap,
          roundsStarted: goal.started,
          ...(goal.maxTokens === undefined ? {} : { maxTokens: goal.maxTokens }),
          ...(goal.maxMs === undefined ? {} : { maxDurationMs: goal.maxMs }),
          createdAt: format(goal.createdAt),
          updatedAt: format(goal.updatedAt),
          activation: goal.phase === "active" && goal.armed ? "armed" : "disarmed",
          usage: {
            tokens: goal.tokens,
            activeMs: goal.activeMs + (goal.phase === "active" ? Math.max(0, model.clock - goal.countedAt) : 0)
          }
        }
  const texts = [seen, expected].map((value) => JSON.stringify(value, (_, part) => sorted(part)))
  if (texts[0] !== texts[1]) throw new Error(`expected ${texts[1]}\n     got ${texts[0]}`)
}

const sorted = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

type Command = fc.AsyncCommand<Model, Real>

const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    await run(model, real)
    await compare(model, real)
  },
  toString: () => name
})

/** A verb: what it does to the model when it is not refused, and the tag it is refused with otherwise. */
const verb = (
  name: Verb,
  aim: Aim,
  apply: (model: Model, goal: ModelGoal) => string | undefined,
  call: (
    real: Real,
    ref: { readonly id: GoalId; readonly revision: number }
  ) => Effect.Effect<unknown, { readonly _tag: string }>
): Command =>
  command(`${name}(${aim.revision}, ${aim.number})`, async (model, real) => {
    const { goal } = model
    const ref = {
      id: `goal-${(goal?.number ?? 1) + aim.number}` as GoalId,
      revision: (goal?.revision ?? 1) + aim.revision
    }
    const expected = refusal(model, name, aim) ?? (goal === undefined ? undefined : apply(model, goal))
    const outcome = await run(real, model, call(real, ref))
    const tag = outcome._tag === "Left" ? outcome.left._tag : undefined
    if (tag !== expected) throw new Error(`${name}: expected ${expected}, got ${tag}`)
  })

const aims: fc.Arbitrary<Aim> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ revision: 0, number: 0 }) },
  { weight: 1, arbitrary: fc.record({ revision: fc.constantFrom(-1, 1, 5), number: fc.constantFrom(0, 1) }) }
)

const objectives = fc.constantFrom("ship it", "ship it well", " ")
const caps = fc.constantFrom(undefined, 0, 1, 2, 3)
const budgets = fc.constantFrom(undefined, 0, 10, 25)
const times = fc.constantFrom(undefined, 100, 1_000)

const present = <K extends string, A>(key: K, value: A | undefined): { readonly [P in K]?: A } =>
  (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: A }

const creates = fc.record({ objective: objectives, cap: caps, tokens: budgets, ms: times }).map((spec) =>
  command(`create(${JSON.stringify(spec)})`, async (model, real) => {
    const { cap, ms, objective, tokens } = spec
    const isTaken = model.goal !== undefined && model.goal.phase !== "complete"
    const expected = isTaken
      ? "GoalExists"
      : objective.trim() === "" || cap === 0 || tokens === 0
        ? "InvalidGoal"
        : undefined
    const call = real.goals.create(real.session, {
      objective,
      ...present("maxGoalRounds", cap),
      ...present("maxTokens", tokens),
      ...present("maxDurationMs", ms)
    })
    const outcome = await run(real, model, call)
    const tag = outcome._tag === "Left" ? outcome.left._tag : undefined
    if (tag !== expected) throw new Error(`create: expected ${expected}, got ${tag}`)
    if (expected !== undefined) return
    model.goal = {
      number: ++model.lastNumber,
      revision: 1,
      phase: "active",
      armed: true,
      objective,
      cap: cap ?? 2,
      started: 0,
      tokens: 0,
      maxTokens: tokens,
      activeMs: 0,
      maxMs: ms,
      countedAt: model.clock,
      createdAt: model.clock,
      updatedAt: model.clock,
      code: undefined
    }
  })
)

const edits = fc
  .record({ aim: aims, objective: objectives, cap: caps, tokens: budgets })
  .map(({ aim, cap, objective, tokens }) =>
    verb(
      "edit",
      aim,
      (model, goal) => {
        if (objective.trim() === "" || cap === 0 || tokens === 0) return "InvalidGoal"
        count(model)
        move(model, goal)
        goal.objective = objective
        goal.cap = cap ?? goal.cap
        goal.maxTokens = tokens ?? goal.maxTokens
        return undefined
      },
      (real, ref) =>
        real.goals.edit(real.session, ref, {
          objective,
          ...present("maxGoalRounds", cap),
          ...present("maxTokens", tokens)
        })
    )
  )

const ends = (name: "pause" | "complete" | "block", phase: ModelGoal["phase"], code?: string) =>
  aims.map((aim) =>
    verb(
      name,
      aim,
      (model, goal) => {
        count(model)
        move(model, goal)
        goal.phase = phase
        goal.armed = false
        goal.code = code
        return undefined
      },
      (real, ref) =>
        name === "block"
          ? real.goals.block(real.session, ref, { code: code ?? "", message: "because" })
          : real.goals[name](real.session, ref)
    )
  )

const resumes = aims.map((aim) =>
  verb(
    "resume",
    aim,
    (model, goal) => {
      if (isSpent(goal)) return "GoalExhausted"
      // Nobody worked on it while it waited to be resumed.
      goal.countedAt = model.clock
      move(model, goal)
      goal.phase = "active"
      goal.armed = true
      goal.code = undefined
      return undefined
    },
    (real, ref) => real.goals.resume(real.session, ref)
  )
)

const clears = aims.map((aim) =>
  verb(
    "clear",
    aim,
    (model) => {
      model.goal = undefined
      return undefined
    },
    (real, ref) => real.goals.clear(real.session, ref)
  )
)

const append = (real: Real, model: Model, event: Parameters<Context.Tag.Service<SessionLog>["append"]>[1][number]) =>
  run(
    real,
    model,
    Effect.flatMap(SessionLog, (log) => log.append(real.session, [event]))
  )

/** A turn claims the message of a round: of the present state, or of one that has passed. */
const claims = fc.constantFrom(0, 0, 0, 1).map((late) =>
  command(`round(${late})`, async (model, real) => {
    const { goal } = model
    if (goal === undefined || (late === 0 && (goal.phase !== "active" || goal.started >= goal.cap))) return
    const revision = goal.revision - late
    const source = { kind: "goal-round" as const, goalId: `goal-${goal.number}`, revision, round: goal.started + 1 }
    const message = AgentMessage.text(source, "go on")
    await append(real, model, AgentEvents.UserMessage.make({ id: `msg-${++real.messages}`, ...message }))
    count(model)
    if (late === 0) goal.started++
  })
)

const works = fc.constantFrom(0, 7, 12).map((tokens) =>
  command(`work(${tokens})`, async (model, real) => {
    const answer = AgentEvents.AssistantMessage.make({
      id: "a",
      turn: 1,
      step: 1,
      route: "r",
      content: [],
      finishReason: "stop",
      usage: { inputTokens: tokens, outputTokens: null }
    })
    await append(real, model, answer)
    count(model)
    if (model.goal?.phase === "active") model.goal.tokens += tokens
  })
)

const disarms = fc.constant(
  command("disarm", async (model, real) => {
    await run(real, model, real.goals.disarm(real.session))
    if (model.goal !== undefined) model.goal.armed = false
  })
)

/** The process dies; another one finds the store. */
const crashes = fc.constant(
  command("crash", async (model, real) => {
    await real.runtime.runPromise(Scope.close(real.scope, Exit.void))
    Object.assign(real, await process(real.runtime))
    if (model.goal !== undefined) model.goal.armed = false
  })
)

const ticks = fc.constantFrom(1, 40, 700, -300).map((by) =>
  command(`tick(${by})`, async (model) => {
    model.clock += by
  })
)

const commands = [
  creates,
  edits,
  ends("pause", "paused"),
  ends("complete", "complete"),
  ends("block", "blocked", "needs-human"),
  resumes,
  resumes,
  clears,
  claims,
  claims,
  works,
  disarms,
  crashes,
  ticks
]

/** The log, folded from its first event, is what the service says it is. */
const refold = async (real: Real): Promise<void> => {
  const read = Effect.flatMap(SessionLog, (log) =>
    Stream.runFold(log.read(real.session), GoalLog.initial, GoalLog.projection.apply)
  )
  const state = await real.runtime.runPromise(read)
  if (state.corrupt !== null) throw new Error(`the log is corrupt: ${JSON.stringify(state.corrupt)}`)
}

/** Runs random commands against both, and fails with the shortest that tell them apart. */
export const check = async (runtime: Runtime, options: { readonly numRuns: number; readonly seed?: number }) => {
  const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 30, size: "max" }), async (all) => {
    await breathe()
    const { model, real } = await setup(runtime)
    try {
      await fc.asyncModelRun(() => ({ model, real }), all)
      await refold(real)
    } finally {
      await runtime.runPromise(
        Effect.zipRight(
          Scope.close(real.scope, Exit.void),
          Effect.flatMap(SessionLog, (log) => log.remove(real.session))
        )
      )
    }
  })
  await fc.assert(property, options)
}
