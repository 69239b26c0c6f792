/** Kills the command with SIGKILL while it runs a session, in each of the ways in which a session is run, and audits what it leaves. */
import type { ChildProcess } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Random } from "../support/random.js"
import { random } from "../support/random.js"
import type { Row } from "./audit.js"
import { neverTwice, nothingLeft, readSession } from "./audit.js"
import type { Ending, Life } from "./command.js"
import { live } from "./command.js"

export const ways = ["run", "chat", "mcp"] as const

export type Way = (typeof ways)[number]

export interface Options {
  /** The bundle of the command. */
  readonly command: string
  readonly way: Way
  readonly seed: number
  /** Kills in all. */
  readonly rounds: number
  /** Kills of one session, which gets a new file; default 10. */
  readonly perSession?: number
  readonly onRound?: (report: Report) => void
}

/** What the kills met: a run that never hit a job proves little. */
export interface Report {
  readonly way: Way
  readonly seed: number
  rounds: number
  sessions: number
  events: number
  acknowledged: number
  jobs: number
  /** Kills that left a turn, or jobs, open. */
  openTurns: number
  openJobs: number
  /** Processes of jobs that the kills left to the next host to be ended. */
  orphans: number
  readonly faults: Array<string>
}

export const run = async (options: Options): Promise<Report> => {
  const { way, seed } = options
  const report: Report = {
    way,
    seed,
    rounds: 0,
    sessions: 0,
    events: 0,
    acknowledged: 0,
    jobs: 0,
    openTurns: 0,
    openJobs: 0,
    orphans: 0,
    faults: []
  }
  const chance = random(seed)
  while (report.rounds < options.rounds) {
    await session(options, report, chance, Math.min(options.perSession ?? 10, options.rounds - report.rounds))
  }
  return report
}

interface Place {
  readonly folder: string
  readonly db: string
  /** A file for each process of a job, named by its pid. */
  readonly pids: string
  readonly script: string
  /** What was said to be stored: the events by seq as text, or todo lists that were answered. */
  readonly events: Map<number, string>
  readonly todos: Set<string>
}

const makePlace = (): Place => {
  const folder = mkdtempSync(join(tmpdir(), "afterturn-hard-"))
  const place: Place = {
    folder,
    db: join(folder, "sessions.db"),
    pids: join(folder, "pids"),
    script: join(folder, "script.json"),
    events: new Map(),
    todos: new Set()
  }
  mkdirSync(place.pids)
  writeFileSync(place.script, JSON.stringify(script(place)))
  return place
}

const job = (place: Place, millis: number) => ({
  command: `touch '${place.pids}'/$$; echo begun; sleep ${millis / 1000}; echo done`,
  description: "Sleep a little",
  run_in_background: true
})

const script = (place: Place) => ({
  rules: [
    {
      on: "user",
      match: "go",
      repeat: true,
      steps: [
        {
          text: "Going.",
          calls: [
            { tool: "todo_write", input: { todos: [{ content: "go", status: "in_progress" }] } },
            { tool: "bash", input: job(place, 30) },
            { tool: "bash", input: job(place, 300_000) },
            { tool: "schedule_create", input: { title: "look", prompt: "look", after_seconds: 1 } }
          ]
        },
        { text: "Under way." }
      ]
    },
    {
      on: "goal-round",
      repeat: true,
      steps: [{ calls: [{ tool: "bash", input: job(place, 10) }] }, { text: "A round." }]
    }
  ],
  otherwise: [{ text: "Noted." }]
})

const id = "s1"

/** So many deaths, then a last life that brings everything to its end. */
const session = async (options: Options, report: Report, chance: Random, kills: number): Promise<void> => {
  const place = makePlace()
  report.sessions++
  const fault = (life: number, what: string) =>
    report.faults.push(`${options.way}, seed ${options.seed}, session ${report.sessions}, life ${life}: ${what}`)
  try {
    for (let life = 1; life <= kills; life++) {
      const { signal, code, stderr } = await oneLife(options, place, life, endingOf(options.way, chance))
      if (signal !== "SIGKILL" && code !== 0) fault(life, `ended by itself with ${code}: ${stderr}`)
      report.rounds++
      report.orphans += readdirSync(place.pids).map(Number).filter(isAlive).length
      for (const what of look(place, report, true)) fault(life, what)
      options.onRound?.(report)
    }
    const last = await live(
      options.command,
      ["run", "--session", id, ...common(place), "--json", "--max-wait", "20s", "finish"],
      {}
    )
    note(place, last)
    if (last.code !== 0) fault(kills + 1, `the last life ended with ${last.signal ?? last.code}: ${last.stderr}`)
    for (const what of look(place, report, false)) fault(kills + 1, what)
    for (const what of await orphans(place)) fault(kills + 1, what)
    const verified = await live(options.command, ["sessions", "verify", "--db", place.db], {})
    if (verified.code !== 0) fault(kills + 1, `verify: ${verified.stderr}${verified.lines.join(" ")}`)
  } finally {
    rmSync(place.folder, { recursive: true, force: true })
  }
}

/** The first line comes some hundred milliseconds after the start. */
const endingOf = (way: Way, chance: Random): Ending => {
  if (chance.below(10) < 2) return { afterLine: 0, millis: chance.below(1_000) }
  // A chat's lines are few, and events lie between them.
  return way === "chat"
    ? { afterLine: 1 + chance.below(8), millis: chance.below(300) }
    : { afterLine: 1 + chance.below(25), millis: chance.below(30) }
}

const common = (place: Place) => ["--db", place.db, "--model", `scripted:${place.script}`]

const oneLife = async ({ command, way }: Options, place: Place, life: number, ending: Ending): Promise<Life> => {
  if (way === "mcp") return mcpLife(command, place, life, ending)
  if (way === "chat") {
    const args = ["chat", "--session", id, ...common(place)]
    return live(command, args, ending, (child, line) => {
      if (line === undefined) child.stdin?.write("go\ngo on\n")
    })
  }
  const goal = life % 3 === 2 ? ["--goal", `goal of life ${life}`, "--max-rounds", "2"] : ["go"]
  const lived = await live(command, ["run", "--session", id, ...common(place), "--json", ...goal], ending)
  note(place, lived)
  // A goal of an earlier life is still there: another is refused.
  return goal.length > 1 && lived.code === 1 ? { ...lived, code: 0 } : lived
}

/** Lines of `--json` are events that are stored. */
const note = (place: Place, { lines }: Life): void => {
  for (const line of lines) {
    const said = JSON.parse(line) as Partial<Row>
    if (typeof said.seq === "number") place.events.set(said.seq, JSON.stringify([said.type, said.data]))
  }
}

/** A client of the protocol that calls one tool after the other. */
const mcpLife = (command: string, place: Place, life: number, ending: Ending): Promise<Life> => {
  let next = 0
  const send = (child: ChildProcess, method: string, params: object) =>
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++next, method, params })}\n`)
  const calls = [
    () => ({ name: "todo_write", arguments: { todos: [{ content: `${life}-${next}`, status: "pending" }] } }),
    () => ({ name: "bash", arguments: job(place, 20) }),
    () => ({ name: "job_list", arguments: {} }),
    () => ({ name: "bash", arguments: job(place, 300_000) }),
    () => ({ name: "schedule_create", arguments: { title: "look", prompt: "look", after_seconds: 1 } })
  ]
  let asked: ReturnType<(typeof calls)[number]> | undefined
  return live(command, ["mcp", "--session", id, "--db", place.db, "--approve", "allow"], ending, (child, line) => {
    if (line === undefined) {
      send(child, "initialize", {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "hard", version: "1" }
      })
      return
    }
    const answer = JSON.parse(line) as { readonly id?: number; readonly result?: { readonly isError?: boolean } }
    if (answer.id !== next) return
    if (asked?.name === "todo_write" && answer.result !== undefined && answer.result.isError !== true) {
      place.todos.add(JSON.stringify(asked.arguments))
    }
    asked = calls[next % calls.length]?.()
    if (asked !== undefined) send(child, "tools/call", asked)
  })
}

/** The next host ends what the processes of the dead one left; after the last there is none. */
const orphans = async (place: Place): Promise<ReadonlyArray<string>> => {
  const pids = readdirSync(place.pids).map(Number)
  for (let waited = 0; pids.some(isAlive); waited += 20) {
    if (waited > 10_000) return [`processes ${pids.filter(isAlive).join(", ")} of jobs outlived every host`]
    await sleep(20)
  }
  return []
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** What is wrong with what a life left, looked at on a copy: the next life is to find the files as they are. */
const look = (place: Place, report: Report, dead: boolean): ReadonlyArray<string> => {
  if (!existsSync(place.db)) return place.events.size + place.todos.size > 0 ? ["the file is gone"] : []
  const copy = join(place.folder, "copy.db")
  for (const suffix of ["", "-wal", "-shm"]) {
    rmSync(copy + suffix, { force: true })
    if (existsSync(place.db + suffix) && suffix !== "-shm") copyFileSync(place.db + suffix, copy + suffix)
  }
  const { events, faults } = readSession(copy, id)
  count(report, events, place, dead)
  return [...faults, ...missing(place, events), ...neverTwice(events), ...(dead ? [] : nothingLeft(events))]
}

const missing = (place: Place, events: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const faults: Array<string> = []
  for (const [seq, text] of place.events) {
    const event = events[seq]
    if (event === undefined || JSON.stringify([event.type, event.data]) !== text) {
      faults.push(`event ${seq} was shown as stored and is ${event === undefined ? "missing" : "another"}`)
    }
  }
  const written = new Set(events.flatMap(({ data, type }) => (type === "todo/write" ? [JSON.stringify(data)] : [])))
  for (const todos of place.todos) if (!written.has(todos)) faults.push(`the list ${todos} was answered and is missing`)
  return faults
}

const count = (report: Report, events: ReadonlyArray<Row>, place: Place, dead: boolean): void => {
  const has = (type: string) => events.filter((event) => event.type === type).length
  if (dead) {
    if (has("turn/start") > has("turn/end")) report.openTurns++
    if (has("job/start") > has("job/settle")) report.openJobs++
    return
  }
  report.events += events.length
  report.acknowledged += place.events.size + place.todos.size
  report.jobs += has("job/start")
}
