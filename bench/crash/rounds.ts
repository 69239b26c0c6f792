/** Kills a session at random instants, resumes it each time, and audits what it finds. */
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLog from "@afterturn/agent/AgentLog"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import * as SessionVerify from "@afterturn/session-log/SessionVerify"
import * as TodoLog from "@afterturn/todo/TodoLog"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Random } from "../support/random.js"
import { random } from "../support/random.js"
import type { Acknowledged, Audit, State } from "./audit.js"
import { audit } from "./audit.js"
import type { Death, Orders, Saying } from "./protocol.js"

export interface Options {
  /** The bundle of `life.ts`. */
  readonly life: string
  readonly seed: number
  /** Kills in all. */
  readonly kills: number
  /** Kills of one session, which gets a new file; default 20. */
  readonly killsPerSession?: number
  readonly onKill?: (report: Report) => void
}

/** What the kills met: a run that never hit a turn proves little. */
export interface Report {
  readonly seed: number
  kills: number
  sessions: number
  events: number
  messages: number
  /** Kills before the agent was alive. */
  duringStart: number
  /** Kills that left a turn, calls without a result, or messages that waited. */
  openTurns: number
  openCalls: number
  waiting: number
  /** Turns that were closed as `interrupted`. */
  interrupted: number
  readonly faults: Array<string>
}

export const run = async (options: Options): Promise<Report> => {
  const report: Report = {
    seed: options.seed,
    kills: 0,
    sessions: 0,
    events: 0,
    messages: 0,
    duringStart: 0,
    openTurns: 0,
    openCalls: 0,
    waiting: 0,
    interrupted: 0,
    faults: []
  }
  const chance = random(options.seed)
  const perSession = options.killsPerSession ?? 20
  while (report.kills < options.kills) {
    const kills = Math.min(perSession, options.kills - report.kills)
    await session(options, report, chance, kills)
  }
  return report
}

/** One session: so many deaths, then a last life that brings everything to its end. */
const session = async (options: Options, report: Report, chance: Random, kills: number): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "afterturn-crash-"))
  const history: History = {
    folder,
    filename: join(folder, "sessions.db"),
    acknowledged: { events: new Map(), messages: new Map() },
    died: new Set(),
    faults: new Set()
  }
  report.sessions++
  try {
    for (let life = 1; life <= kills; life++) {
      const ending = chooseEnding(chance)
      const end = await live(options.life, history, ordersOf(history, chance, life, ending), ending)
      report.kills++
      if (!end.wasAlive) report.duringStart++
      if (end.signal !== "SIGKILL") report.faults.push(`life ${life} ended by itself: ${end.code} ${end.stderr}`)
      await look(history, report, life)
      options.onKill?.(report)
    }
    const last = { ...ordersOf(history, chance, kills + 1, {}), last: true }
    const end = await live(options.life, history, last, {})
    if (end.code !== 0) report.faults.push(`the last life failed: ${end.signal ?? end.code} ${end.stderr}`)
    await look(history, report, kills + 1, { isOver: true })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface History {
  readonly folder: string
  readonly filename: string
  readonly acknowledged: Acknowledged
  /** Lengths of the log at which a life was found dead. */
  readonly died: Set<number>
  readonly faults: Set<string>
}

/** How a life ends: killed some milliseconds after it was started or came alive, or by its own hand around a commit. */
interface Ending {
  readonly afterStart?: number
  readonly afterAlive?: number
  readonly death?: Death
}

/** The start takes some hundred milliseconds: half of the early kills come before the agent is alive. */
const chooseEnding = (chance: Random): Ending => {
  const kind = chance.below(10)
  if (kind < 2) return { afterStart: chance.below(600) }
  if (kind < 6) return { afterAlive: chance.below(300) }
  return { death: { commit: 1 + chance.below(60), when: chance.pick(["before", "after"]) } }
}

const sessionId = SessionId.make("crash")

const ordersOf = (history: History, chance: Random, life: number, { death }: Ending): Orders => ({
  filename: history.filename,
  session: sessionId,
  life,
  seed: chance.below(2 ** 32),
  messages: 1 + chance.below(8),
  ...(death === undefined ? {} : { death })
})

interface End {
  readonly code: number | null
  readonly signal: string | null
  readonly stderr: string
  readonly wasAlive: boolean
}

/** A life, from its start to the last of what it said. */
const live = async (bundle: string, history: History, orders: Orders, ending: Ending): Promise<End> => {
  const child = spawn(process.execPath, [bundle, JSON.stringify(orders)], { stdio: ["ignore", "pipe", "pipe"] })
  let stderr = ""
  let wasAlive = false
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  if (ending.afterStart !== undefined) killAfter(child, ending.afterStart)
  const lines = createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => {
    const saying = JSON.parse(line) as Saying
    if (saying._tag === "committed") {
      for (const [index, event] of saying.events.entries()) {
        history.acknowledged.events.set(saying.firstSeq + index, event)
      }
    } else if (saying._tag === "accepted") history.acknowledged.messages.set(saying.id, saying.text)
    else if (saying._tag === "alive") {
      wasAlive = true
      if (ending.afterAlive !== undefined) killAfter(child, ending.afterAlive)
    } else if (orders.last !== true) child.kill("SIGKILL")
  })
  const read = new Promise<void>((resolve) => lines.on("close", () => resolve()))
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.on("close", (...end) => resolve(end))
  )
  await read
  return { code, signal, stderr, wasAlive }
}

const killAfter = (child: ChildProcess, millis: number): void => {
  const timer = setTimeout(() => child.kill("SIGKILL"), millis)
  child.on("close", () => clearTimeout(timer))
}

/** What the dead life left, looked at on a copy: the next life is to find the files as they are. */
const look = async (
  history: History,
  report: Report,
  life: number,
  options?: { readonly isOver?: boolean }
): Promise<void> => {
  if (!existsSync(history.filename)) {
    if (history.acknowledged.events.size > 0) report.faults.push(`after life ${life}: the file is gone`)
    return
  }
  const folder = join(history.folder, "copy")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const suffix of ["", "-wal"]) {
    if (existsSync(history.filename + suffix))
      copyFileSync(history.filename + suffix, join(folder, `sessions.db${suffix}`))
  }
  const found = await Effect.runPromise(
    Effect.provide(inspect(history, options), storeOf(join(folder, "sessions.db"))).pipe(
      Effect.catchAll((error) => Effect.succeed(`${error._tag}: ${error.message}`))
    )
  )
  if (typeof found === "string") report.faults.push(`after life ${life}: ${found}`)
  else if (found !== undefined) take(history, report, life, found, options?.isOver ?? false)
}

const storeOf = (filename: string) =>
  Layer.provideMerge(EventTypes.layerRegister(...AgentEvents.all, TodoLog.TodoWrite), layerSqlite({ filename }))

const projections = [AgentLog.state, AgentLog.counters, TodoLog.projection("user-turn")]

const inspect = Effect.fnUntraced(function* (history: History, options: { readonly isOver?: boolean } | undefined) {
  const log = yield* SessionLog.SessionLog
  if (!(yield* log.exists(sessionId))) {
    return history.acknowledged.events.size === 0 ? undefined : "the session is gone"
  }
  const events = Chunk.toReadonlyArray(yield* Stream.runCollect(log.read(sessionId)))
  const fault = yield* SessionVerify.verify(sessionId, { projections })
  if (fault !== null) return `the session does not verify: ${JSON.stringify(fault)}`
  return audit(events, history.acknowledged, history.died, options)
})

const take = (history: History, report: Report, life: number, found: Audit, isOver: boolean): void => {
  for (const fault of found.faults) {
    // A fault in the log stays there, and is found again after each further life.
    if (!history.faults.has(fault)) report.faults.push(`after life ${life}: ${fault}`)
    history.faults.add(fault)
  }
  history.died.add(found.state.length)
  if (!isOver) return countDeath(report, found.state)
  report.events += found.state.length
  report.messages += history.acknowledged.messages.size
  report.interrupted += found.state.interrupted
}

const countDeath = (report: Report, state: State): void => {
  if (state.turn !== undefined) report.openTurns++
  if (state.turn !== undefined && state.turn.unanswered.size > 0) report.openCalls++
  if (state.waiting.size > 0) report.waiting++
}
