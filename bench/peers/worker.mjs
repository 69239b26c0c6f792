// Measures the peers on request of a bench, one round a message, in a process of their own.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeJobTasks } from "./jobs.mjs"
import { assistantMessage, bareAgent, liveAgent, resumeAgent, start, stop, userMessage } from "./system.mjs"

const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), "afterturn-bench-peers-"))
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
process.on("disconnect", () => process.exit(0))

let names = 0
const freshName = () => `s${++names}`

const timed = async (operations, work) => {
  const cpuBefore = process.cpuUsage()
  const before = performance.now()
  await work()
  const elapsed = performance.now() - before
  const cpu = process.cpuUsage(cpuBefore)
  return {
    perSecond: (operations / elapsed) * 1000,
    millis: elapsed / operations,
    cpuMicros: (cpu.user + cpu.system) / operations
  }
}

/** Systems are started once and used by every round that asks for the same. */
const systems = new Map()
const system = async (key, options) => {
  if (!systems.has(key)) systems.set(key, await start(options))
  return systems.get(key)
}
const stored = (name) => ({ root: join(folder, name) })

const append = (session, index, text) =>
  session.append("todo/write", { todos: [{ content: `${index} ${text}`, status: "pending" }] })

/** Events of about the size that the session log is measured with. */
const filler = "x".repeat(200)

const appends = async ({ count, flush, where }) => {
  const { context } = await system(`appends ${where}`, where === "memory" ? {} : stored("appends"))
  const session = context.sessions.create(freshName(), { meta: { cwd: "/tmp" } })
  return timed(count, async () => {
    for (let index = 0; index < count; index++) {
      append(session, index, filler)
      if (flush) await context.sessions.flush(session)
      // Otherwise the writer behind never gets its turn.
      else if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    if (where !== "memory") await context.sessions.flush(session)
  })
}

const todos = (items, call) =>
  Array.from({ length: items }, (_, index) => ({
    content: `${call}-${index}: do what this step of the plan says before the next`,
    status: index < items / 2 ? "completed" : "pending"
  }))

const todo = async ({ count, flush, items }) => {
  const { context } = await system(`todo ${flush}`, flush ? stored("todo") : {})
  const agent = await bareAgent(context, freshName())
  const signal = new AbortController().signal
  return timed(count, async () => {
    for (let call = 0; call < count; call++) {
      const input = { todos: todos(items, call) }
      const result = await context.tools.execute({
        callId: `c${call}`,
        name: "todo_write",
        arguments: input,
        agent,
        signal
      })
      if (result.isError) throw new Error(result.content[0].text)
      if (flush) await context.sessions.flush(agent.session)
    }
  })
}

/** Through the loop: a model that calls once a step; the session is flushed when the turn is over. */
const todoTurns = async ({ callsPerTurn, items, turns }) => {
  const { context, model } = await system("todo turns", { loop: true, ...stored("todo-turns") })
  const agents = []
  for (let turn = 0; turn < turns; turn++) agents.push(await liveAgent(context, freshName()))
  return timed(turns * callsPerTurn, async () => {
    for (const agent of agents) {
      model.answers = Array.from({ length: callsPerTurn }, (_, call) => [
        { id: `c${call}`, name: "todo_write", input: { todos: todos(items, call) } }
      ])
      agent.followup(await userMessage("go on"))
      await agent.whenIdle()
      await context.sessions.flush(agent.session)
    }
  })
}

const turns = async ({ count, where }) => {
  const { context } = await system(`turns ${where}`, { loop: true, ...(where === "memory" ? {} : stored("turns")) })
  const agent = await liveAgent(context, freshName())
  return timed(count, async () => {
    for (let turn = 0; turn < count; turn++) {
      agent.followup(await userMessage(`message ${turn}`))
      await agent.whenIdle()
      if (where !== "memory") await context.sessions.flush(agent.session)
    }
  })
}

/** A stored session of turns of nine events. */
const longSession = async ({ events }) => {
  const name = `long-${events}`
  const running = await start(stored(name))
  const session = running.context.sessions.create("long", { meta: { cwd: "/tmp" } })
  for (let turn = 1; session.events.length < events; turn++) {
    session.append("turn/start", { turn })
    session.append("step/start", { turn, step: 1 })
    session.append("user/message", await userMessage(filler), { surfaceOp: "append" })
    const message = await assistantMessage(filler)
    session.append("assistant/message", { turn, step: 1, message }, { surfaceOp: "append", sourceEventSeqs: [] })
    for (let write = 0; write < 3; write++) append(session, turn, filler)
    session.append("step/end", { turn, step: 1 })
    session.append("turn/end", { turn, reason: { kind: "completed" } })
    if (turn % 50 === 0) await running.context.sessions.flush(session)
  }
  await running.context.sessions.flush(session)
  await stop(running)
  return { bytesPerEvent: bytesOf(join(folder, name)) / events }
}

const bytesOf = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path).reduce((sum, entry) => sum + bytesOf(join(path, entry)), 0)
    : statSync(path).size

const resume = async ({ events }) => {
  const running = await start({ loop: true, projections: true, ...stored(`long-${events}`) })
  const measured = await timed(1, async () => {
    const { session } = await resumeAgent(running.context, "long")
    running.context.sessionProjections.snapshot(session)
  })
  await stop(running)
  return measured
}

/** A folder that already holds so many sessions: each is a header line. */
const manySessions = ({ sessions }) => {
  for (let index = 0; index < sessions; index++) {
    const at = join(folder, `many-${sessions}`, "--tmp--", `old-${index}`)
    mkdirSync(at, { recursive: true })
    const header = {
      type: "session",
      version: 0,
      id: `old-${index}`,
      createdAt: index,
      cwd: "/tmp",
      delegationDepth: 0
    }
    writeFileSync(join(at, "session.jsonl"), `${JSON.stringify(header)}\n`)
  }
}

/** By a process that has just come: what it must know of the others it has yet to read. */
const firstSession = async ({ sessions }) => {
  const running = await start(stored(`many-${sessions}`))
  const measured = await timed(1, async () => {
    const session = running.context.sessions.create(freshName(), { meta: { cwd: "/tmp" } })
    append(session, 0, filler)
    await running.context.sessions.flush(session)
  })
  await stop(running)
  return measured
}

const list = async ({ sessions }) => {
  const running = await start(stored(`many-${sessions}`))
  const measured = await timed(1, () => running.context.sessionPersistence.list())
  await stop(running)
  return measured
}

const jobs = makeJobTasks({ freshName, timed })

const tasks = { appends, firstSession, ...jobs, list, longSession, manySessions, resume, todo, todoTurns, turns }

process.on("message", async ({ options, task }) => {
  try {
    process.send({ answer: await tasks[task](options) })
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})
process.send({ answer: "ready" })
