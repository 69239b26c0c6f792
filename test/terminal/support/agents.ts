/** Agents that have terminals, of the system or fake ones. */
import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent } from "@afterturn/agent/Agent"
import { Agents } from "@afterturn/agent/Agents"
import type { Approval } from "@afterturn/agent/Approval"
import type { Outcome } from "@afterturn/agent/ToolPipeline"
import * as ToolPipeline from "@afterturn/agent/ToolPipeline"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import type { TerminalBackend } from "@afterturn/terminal/TerminalBackend"
import type { TerminalOptions } from "@afterturn/terminal/TerminalConfig"
import * as TerminalConfig from "@afterturn/terminal/TerminalConfig"
import * as Terminals from "@afterturn/terminal/Terminals"
import * as TerminalTools from "@afterturn/terminal/TerminalTools"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { layer as layerAgents } from "../../support/agents.js"
import * as FakeModel from "../../support/FakeModel.js"

export interface Options {
  readonly terminal?: Partial<TerminalOptions>
  readonly model?: FakeModel.FakeModel
  readonly approval?: Layer.Layer<Approval>
}

export const owner = SessionId.make("session-a")

/** Where the programs of these tests are. */
const path = process.env.PATH ?? "/usr/bin:/bin"

const nothing = Layer.context<never>()

/** Terminals and their tools, with jobs, their tools and their notices. */
export const layer = (backend: Layer.Layer<TerminalBackend>, options?: Options) =>
  Layer.mergeAll(TerminalTools.layer(), JobTools.layer(), JobDelivery.layer()).pipe(
    Layer.provide(options?.approval ?? nothing),
    Layer.provideMerge(Terminals.layer),
    Layer.provide(backend),
    Layer.provideMerge(
      TerminalConfig.layer({ setEnvironment: { PATH: path, LC_ALL: "C.UTF-8" }, ...options?.terminal })
    ),
    Layer.provideMerge(Jobs.layer()),
    Layer.provideMerge(layerAgents((options?.model ?? FakeModel.replies()).layer)),
    Layer.orDie
  )

export const newAgent = (id: SessionId = owner, options: { readonly cwd?: string } = { cwd: "/tmp" }) =>
  Effect.flatMap(Agents, (agents) => agents.create({ id, ...options }))

/** What a model would be answered to a call outside a turn, on behalf of an agent or of nobody. */
export const call = (name: string, input: unknown, agent?: Agent): Effect.Effect<Outcome, never, ToolRegistry> =>
  Effect.gen(function* () {
    const registered = yield* Effect.flatMap(ToolRegistry, (registry) => registry.tools(agent))
    const tools = new Map(registered.map((tool) => [tool.tool.name, tool]))
    const { run } = ToolPipeline.prepare(tools, { callId: "call-1", name, input }, { maxResultBytes: 50_000 })
    return yield* agent === undefined ? run : Effect.provideService(run, CurrentAgent, agent)
  })

/** The value of an outcome that succeeded. */
export const valueOf = (outcome: Outcome): Record<string, unknown> => {
  if (!outcome.ok) throw new Error(outcome.text)
  return outcome.value as Record<string, unknown>
}

/** Opens a shell and gives its id. */
export const openShell = (agent: Agent, input: Record<string, unknown> = {}) =>
  Effect.map(call("terminal_open", { type: "shell", ...input }, agent), (outcome) => String(valueOf(outcome).sessionId))

/** Types into a terminal, as the tool does. */
export const send = (agent: Agent, sessionId: string, text: string, more: Record<string, unknown> = {}) =>
  Effect.map(call("terminal_send", { sessionId, text, ...more }, agent), valueOf)

/** Lets time go by until a fiber is through. What it loads or shows meanwhile takes turns of the event loop, of which no clock knows. */
export const finished = <A, E>(fiber: Fiber.RuntimeFiber<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    while (Option.isNone(yield* Fiber.poll(fiber))) {
      yield* TestClock.adjust("100 millis")
      yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
    }
    return yield* Fiber.join(fiber)
  })
