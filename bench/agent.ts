/** The agent around the model: turns a second, what an idle agent weighs, and how long a long session takes to come alive. */
import { join } from "node:path"
import type { Agent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import type { EventInput } from "@afterturn/session-log/SessionEvent"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as TodoLog from "@afterturn/todo/TodoLog"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Runtime } from "./support/agents.js"
import { memory, openAgents, sqlite } from "./support/agents.js"
import { heapUsed, interleave, measure, median, speedup } from "./support/measure.js"
import * as Model from "./support/model.js"
import { Peers } from "./support/peers.js"
import { prose, random } from "./support/random.js"
import { quick, Report, rounds } from "./support/report.js"
import { scratchFolder } from "./support/scratch.js"

const folder = scratchFolder("agent")

/** Answers every message with a text. */
const answering = Model.layer(() => [])

const takeTurn = (agent: Agent) => Effect.zipRight(agent.followup(AgentMessage.user("What is next?")), agent.whenIdle)

/** Agents that each take so many turns, at the same time. */
const turns = (runtime: Runtime, agents: number, turnsEach: number) => () =>
  runtime.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { create } = yield* Agents
        const made = yield* Effect.all(Array.from({ length: agents }, () => create()))
        const work = Effect.forEach(made, (agent) => Effect.repeatN(takeTurn(agent), turnsEach - 1), {
          concurrency: "unbounded",
          discard: true
        })
        return yield* Effect.promise(() => measure(agents * turnsEach, () => runtime.runPromise(work)))
      })
    )
  )

const turnsPerSecond = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const inMemory = openAgents(memory, answering)
  const normal = openAgents(sqlite(join(folder, "normal.db"), "normal"), answering)
  const full = openAgents(sqlite(join(folder, "full.db"), "full"), answering)
  const found = await interleave(rounds, {
    ...(peers === undefined
      ? {}
      : {
          "peers: one agent, in memory": () => peers.measure("turns", { count: 50, where: "memory" }),
          "peers: one agent, flushed after each turn": () => peers.measure("turns", { count: 50, where: "files" })
        }),
    "one agent, in memory": turns(inMemory, 1, 50),
    "one agent, SQLite NORMAL": turns(normal, 1, 50),
    "one agent, SQLite FULL": turns(full, 1, 20),
    "32 agents, in memory": turns(inMemory, 32, 4),
    "32 agents, SQLite NORMAL": turns(normal, 32, 4),
    "32 agents, SQLite FULL": turns(full, 32, 4)
  })
  report.compare("turns a second, of one step without tools", found, "one agent, in memory")
  for (const runtime of [inMemory, normal, full]) await runtime.dispose()
}

/** What the heap grows by, an agent, while so many of them live and do nothing. */
const weight = async (runtime: Runtime, agents: number, firstTurn: boolean): Promise<number> => {
  const scope = Effect.runSync(Scope.make())
  const bringUp = Effect.gen(function* () {
    const { create } = yield* Agents
    const made = yield* Effect.all(Array.from({ length: agents }, () => create()))
    if (firstTurn) yield* Effect.forEach(made, takeTurn, { discard: true })
  })
  const before = await heapUsed()
  await runtime.runPromise(Scope.extend(bringUp, scope))
  const after = await heapUsed()
  await runtime.runPromise(Scope.close(scope, Exit.void))
  return (after - before) / agents
}

const weights = async (report: Report): Promise<void> => {
  const runtime = openAgents(sqlite(join(folder, "weight.db"), "normal"), answering)
  const agents = quick ? 200 : 1_000
  // What is loaded and compiled once belongs to no agent.
  await weight(runtime, 50, true)
  report.figure("heap of a live idle agent", (await weight(runtime, agents, false)) / 1024, "KiB")
  report.figure("the same after a turn", (await weight(runtime, agents, true)) / 1024, "KiB")
  await runtime.dispose()
}

const source = random(3)

/** A turn as an agent logs it: eleven events. */
const turnEvents = (turn: number): ReadonlyArray<EventInput> => {
  const message = { id: `msg-${turn}`, ...AgentMessage.user(prose(source, 20)) }
  const step = { turn, step: 1 }
  const todos = Array.from({ length: 3 }, (_, index) => ({ content: `${turn}-${index}`, status: "pending" as const }))
  const call = { callId: "call-1", name: "todo_write" }
  return [
    AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "insert", messages: [message] }),
    AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "claim", ids: [message.id], turn }),
    AgentEvents.TurnStart.make({ turn, source: message.source }),
    AgentEvents.UserMessage.make(message),
    AgentEvents.StepStart.make(step),
    AgentEvents.AssistantMessage.make({
      ...step,
      id: `answer-${turn}-1`,
      route: "bench:model",
      content: [
        { type: "text", text: prose(source, 60) },
        { type: "tool-call", ...call, input: { todos } }
      ],
      finishReason: "tool-calls",
      usage: { inputTokens: 100, outputTokens: 10 }
    }),
    AgentEvents.ToolCall.make({ ...call, ...step, input: { todos } }),
    TodoLog.TodoWrite.make({ todos }),
    AgentEvents.ToolResult.make({ ...call, ok: true, value: { todos }, text: "3 pending" }),
    AgentEvents.StepEnd.make(step),
    AgentEvents.TurnEnd.make({ turn, reason: { kind: "completed" } })
  ]
}

const session = SessionId.make("long")

const prepare = async (filename: string, events: number): Promise<void> => {
  const runtime = openAgents(sqlite(filename, "normal"), answering)
  await runtime.runPromise(
    Effect.gen(function* () {
      const log = yield* SessionLog
      yield* log.create({ id: session })
      let turn = 0
      while (turn * 11 < events) {
        const batch: Array<EventInput> = []
        for (let index = 0; index < 40; index++) batch.push(...turnEvents(++turn))
        yield* log.append(session, batch)
      }
    })
  )
  await runtime.dispose()
}

/** Opens the database and brings the session's agent to life; `work` comes after that and is measured with it. */
const resume = (filename: string, work: (agent: Agent) => Effect.Effect<unknown, unknown>) => () =>
  measure(1, async () => {
    const runtime = openAgents(sqlite(filename, "normal"), answering)
    await runtime.runPromise(
      Effect.scoped(Effect.flatMap(Agents, (agents) => Effect.flatMap(agents.resume(session), work)))
    )
    await runtime.dispose()
  })

const resumes = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const long = quick ? 20_000 : 100_000
  const files = { short: join(folder, "short.db"), long: join(folder, "long.db") }
  await prepare(files.short, long / 100)
  await prepare(files.long, long)
  // The snapshots that an agent leaves when it closes.
  const first = await resume(files.long, () => Effect.void)()
  await resume(files.short, () => Effect.void)()
  await peers?.ask("longSession", { events: long })
  const events = (count: number) => `${count.toLocaleString("en")} events`
  const [short, whole] = [`resume, ${events(long / 100)}`, `resume, ${events(long)}`]
  const found = await interleave(rounds, {
    ...(peers === undefined
      ? {}
      : { [`peers: resume, ${events(long)}`]: () => peers.measure("resume", { events: long }) }),
    [short]: resume(files.short, () => Effect.void),
    [whole]: resume(files.long, () => Effect.void),
    [`${short}, and a turn`]: resume(files.short, takeTurn),
    [`${whole}, and a turn`]: resume(files.long, takeTurn)
  })
  report.compare("an agent of a stored session: from the file to life", found, short)
  report.figure(`resume of ${events(long)} without any snapshot, once`, first.millis, "ms")
  report.aim(
    "resume of an agent takes no longer for a log 100 × as long (≤ 1.3 ×)",
    1 / speedup(found[whole] ?? [], found[short] ?? []),
    (it) => it <= 1.3
  )
  const turn = (name: string) => median((found[`${name}, and a turn`] ?? []).map((one) => one.millis))
  report.figure(
    "what the first turn of the long session adds: its whole history is read",
    turn(whole) - turn(short),
    "ms"
  )
}

const report = new Report("agent")
const peers = await Peers.start(report)
await turnsPerSecond(report, peers)
await weights(report)
await resumes(report, peers)
peers?.stop()
report.print()
