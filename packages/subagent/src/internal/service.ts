import type { Agent } from "@afterturn/agent/Agent"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { AgentExtensions, Agents } from "@afterturn/agent/Agents"
import { labelLine } from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { EventTypes } from "@afterturn/session-log/EventTypes"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { SubagentConfig } from "../SubagentConfig.js"
import { AgentNotFound, AgentUnavailable, DepthLimitReached, InvalidTask } from "../SubagentError.js"
import * as SubagentLog from "../SubagentLog.js"
import type { Subagents, Task } from "../Subagents.js"
import { below } from "../SubagentTree.js"
import { folderOf } from "./folder.js"
import type { Place, Runtime } from "./live.js"
import { attach, close } from "./place.js"
import { endTurn, startRun } from "./run.js"

type Service = Context.Tag.Service<Subagents>

export const make: Effect.Effect<
  Service,
  never,
  Agents | AgentExtensions | Jobs | SessionLog | Projections | EventTypes | SubagentConfig | Scope.Scope
> = Effect.gen(function* () {
  const types = yield* EventTypes
  // With what the folds read, so that a session can be read where no agent runs.
  yield* types.register(...SubagentLog.eventTypes)
  const runtime: Runtime = {
    agents: yield* Agents,
    jobs: yield* Jobs,
    log: yield* SessionLog,
    projections: yield* Projections,
    options: yield* SubagentConfig,
    context: yield* Effect.context<never>(),
    places: new Map()
  }
  // Agents may outlive this layer; their children do not.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() =>
      Effect.forEach([...runtime.places.values()], (place) => close(runtime, place), { discard: true })
    )
  )
  const extensions = yield* AgentExtensions
  yield* extensions.register((agent) => attach(runtime, agent))
  return {
    delegate: Effect.fn("Subagents.delegate")((parent: Agent, task: Task) => delegate(runtime, parent, task)),
    send: Effect.fn("Subagents.send")((sender: Agent, to: string, message: string) =>
      send(runtime, sender, to, message)
    ),
    interrupt: Effect.fn("Subagents.interrupt")((caller: Agent, id: string) => interrupt(runtime, caller, id)),
    below: (id) =>
      Effect.provideService(below(id, { isRunning: (id) => isRunning(runtime, id) }), Projections, runtime.projections)
  }
})

const isRunning = ({ agents }: Runtime, id: SessionId): Effect.Effect<boolean> =>
  Effect.flatMap(agents.get(id), (agent) =>
    agent === undefined ? Effect.succeed(false) : Effect.map(agent.status, (status) => status === "running")
  )

/** What one agent says to another. */
const said = (sender: Agent, text: string) => AgentMessage.text({ kind: "agent", sessionId: sender.id }, text)

const delegate = (runtime: Runtime, parent: Agent, task: Task): ReturnType<Service["delegate"]> =>
  Effect.gen(function* () {
    const { maxDepth } = runtime.options
    const depth = parent.header.delegationDepth
    if (depth >= maxDepth) {
      return yield* new DepthLimitReached({ code: "depth_limit_reached", depth, limit: maxDepth })
    }
    if (task.prompt.trim() === "") return yield* invalid("the prompt is empty")
    if (task.description.trim() === "") return yield* invalid("the description is empty")
    const folder = folderOf(parent.header.cwd, task.cwd)
    if ("problem" in folder) return yield* invalid(folder.problem)
    const place = yield* placeOf(runtime, parent)
    const child = { _tag: "New", label: labelLine(task.description.trim()), cwd: folder.cwd } as const
    const { jobId, resident } = yield* place.lock.withPermits(1)(
      startRun(runtime, place, child, said(parent, task.prompt))
    )
    return { agentId: resident.id, jobId }
  })

const invalid = (reason: string): InvalidTask => new InvalidTask({ code: "invalid_task", reason })

/** An agent that is being disposed starts nothing. */
const placeOf = ({ places }: Runtime, { id }: Agent): Effect.Effect<Place, AgentUnavailable> =>
  Effect.suspend(() => {
    const place = places.get(id)
    return place === undefined || place.closing
      ? new AgentUnavailable({ code: "agent_unavailable", agentId: id, reason: "it is not alive in this process" })
      : Effect.succeed(place)
  })

const send = (runtime: Runtime, sender: Agent, to: string, message: string): ReturnType<Service["send"]> =>
  Effect.gen(function* () {
    if (message.trim() === "") return yield* invalid("the message is empty")
    const { value } = yield* runtime.projections.get(sender.id, SubagentLog.children)
    const child = SubagentLog.childOf(value, to)
    if (child === undefined) return yield* sendUp(runtime, sender, to, message)
    const place = yield* placeOf(runtime, sender)
    const text = said(sender, `Your parent agent says:\n\n${message}`)
    return yield* place.lock.withPermits(1)(
      Effect.gen(function* () {
        const resident = place.residents.get(child.id)
        const jobId = resident?.run
        if (resident !== undefined && jobId !== undefined) {
          yield* resident.agent.steer(text)
          return { delivery: "steered" as const, agentId: child.id, jobId }
        }
        const started = yield* startRun(runtime, place, { _tag: "Known", id: child.id, label: child.label }, text)
        return { delivery: "continued" as const, agentId: child.id, jobId: started.jobId }
      })
    )
  })

/** To the parent, if that is who is meant: one whose log knows the sender as its child. */
const sendUp = (runtime: Runtime, sender: Agent, to: string, message: string): ReturnType<Service["send"]> =>
  Effect.gen(function* () {
    const { parent } = sender.header
    const known = parent === to ? yield* childrenOf(runtime, parent) : undefined
    const child = known === undefined ? undefined : SubagentLog.childOf(known, sender.id)
    if (parent === undefined || known === undefined || child === undefined) return yield* notFound(to)
    const agent = yield* runtime.agents.get(parent)
    if (agent === undefined) {
      const reason = "it is not alive in this process; end with what you have to say, which is kept"
      return yield* new AgentUnavailable({ code: "agent_unavailable", agentId: parent, reason })
    }
    const from = `Your subagent ${sender.id} (${JSON.stringify(child.label)}) says:`
    // A brake, not a quota: messages that come at once may find the same count, and share a turn.
    const isHeld = known.wakes >= runtime.options.maxMessageWakes
    yield* (isHeld ? agent.inject : agent.steer)(said(sender, `${from}\n\n${message}`))
    return { delivery: isHeld ? ("held" as const) : ("to-parent" as const), agentId: parent }
  })

const childrenOf = ({ projections }: Runtime, parent: SessionId) =>
  projections.get(parent, SubagentLog.children).pipe(
    Effect.map(({ value }) => value),
    Effect.catchTag("SessionNotFound", () => Effect.succeed(undefined))
  )

const isChild = (runtime: Runtime, parent: SessionId, id: string) =>
  Effect.map(
    childrenOf(runtime, parent),
    (known) => known !== undefined && SubagentLog.childOf(known, id) !== undefined
  )

const notFound = (agentId: string): AgentNotFound => new AgentNotFound({ code: "agent_not_found", agentId })

const isSessionId = Schema.is(SessionId)

/** The parent of an agent that stands somewhere below the caller. */
const parentBelow = (runtime: Runtime, caller: Agent, id: string) =>
  Effect.gen(function* () {
    if (!isSessionId(id)) return yield* notFound(id)
    let direct: SessionId | undefined
    let current = id
    while (true) {
      const header = yield* Effect.catchTag(runtime.log.header(current), "SessionNotFound", () => notFound(id))
      const { parent } = header
      // Each step leads up a level, so that it ends.
      if (parent === undefined || header.delegationDepth <= caller.header.delegationDepth) return yield* notFound(id)
      if (!(yield* isChild(runtime, parent, current))) return yield* notFound(id)
      direct ??= parent
      if (parent === caller.id) return { id, parent: direct }
      current = parent
    }
  })

const interrupt = (runtime: Runtime, caller: Agent, given: string): ReturnType<Service["interrupt"]> =>
  Effect.gen(function* () {
    const { id, parent } = yield* parentBelow(runtime, caller, given)
    const place = runtime.places.get(parent)
    const resident = place?.residents.get(id)
    if (place === undefined || resident === undefined) return { agentId: id, answer: "not-running" as const }
    const reason = caller.id === parent ? "interrupted by its parent" : `interrupted by agent ${caller.id}`
    if (resident.run !== undefined) {
      const asked = runtime.jobs.kill(resident.run, parent, { reason, by: "model" })
      const { answer } = yield* Effect.catchTag(asked, "JobNotFound", () => Effect.succeed({ answer: "gone" }))
      const isAsked = answer === "cancellation-requested"
      return { agentId: id, answer: isAsked ? ("interrupt-requested" as const) : ("not-running" as const) }
    }
    if ((yield* resident.agent.status) !== "running") return { agentId: id, answer: "not-running" as const }
    yield* Effect.forkIn(Effect.interruptible(endTurn(place, resident, reason)), place.scope)
    return { agentId: id, answer: "interrupt-requested" as const }
  })
