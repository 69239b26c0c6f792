import type { Evidence, RawEvent, RawSession, Violation } from "../../SimulationCheck.js"
import { delivered, insertedBy, numberOf, own } from "./own.js"

interface Job {
  settledAt: number | undefined
  status: string | undefined
  isCalledOff: boolean
  /** By an answer of a tool. */
  shownAt: number | undefined
  /** By a message in the inbox. */
  namedAt: number | undefined
  notices: number
}

/** Each job starts once, ends once, and its end is told once, to the session that owns it. */
export const jobs = ({ sessions }: Evidence): ReadonlyArray<Violation> => sessions.flatMap(ofSession)

const ofSession = (session: RawSession): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const say = (seq: number | undefined, problem: string | undefined): void => {
    if (problem !== undefined) found.push({ session: session.id, ...(seq === undefined ? {} : { seq }), problem })
  }
  const all = new Map<string, Job>()
  const used = usedNumbers(session)
  for (const event of own(session)) {
    if (event.type === "job/start") say(event.seq, start(all, used, event.data.id))
    else if (event.type === "job/settle") say(event.seq, settle(all, event))
    else if (event.type === "job/kill-requested") callOff(all, event)
    else if (event.type === "tool/result") show(all, event)
    for (const { source } of insertedBy(event)) {
      if (source.kind === "job-notice") for (const id of source.jobs) say(event.seq, name(all, id, event.seq))
    }
  }
  for (const { message, seq } of delivered(session)) {
    if (message.source.kind === "job-notice") for (const id of message.source.jobs) say(seq, notice(all, id, seq))
  }
  for (const [id, job] of all) say(job.settledAt, atTheEnd(id, job))
  return found
}

const usedNumbers = ({ events, seedLength }: RawSession): Map<string, number> => {
  const used = new Map<string, number>()
  for (const { data, type } of events.slice(0, seedLength)) if (type === "job/start") count(used, data.id)
  return used
}

const kindOf = (id: string): string => id.slice(0, id.lastIndexOf("-"))

const count = (used: Map<string, number>, id: string): void => {
  used.set(kindOf(id), Math.max(numberOf(id), used.get(kindOf(id)) ?? 0))
}

const start = (all: Map<string, Job>, used: Map<string, number>, id: string): string | undefined => {
  const isUsed = numberOf(id) <= (used.get(kindOf(id)) ?? 0)
  count(used, id)
  all.set(id, {
    settledAt: undefined,
    status: undefined,
    isCalledOff: false,
    shownAt: undefined,
    namedAt: undefined,
    notices: 0
  })
  return isUsed ? `the id ${id} was used before` : undefined
}

const terminal = new Set(["completed", "killed", "failed"])

const settle = (all: Map<string, Job>, { data, seq }: RawEvent): string | undefined => {
  const job = all.get(data.id)
  if (job === undefined) return `${data.id} ends and never started here`
  if (job.settledAt !== undefined) return `${data.id} ends again`
  job.settledAt = seq
  job.status = data.status
  return terminal.has(data.status) ? undefined : `${data.id} ends as ${data.status}`
}

const callOff = (all: Map<string, Job>, { data }: RawEvent): void => {
  const job = all.get(data.id)
  if (job !== undefined && job.settledAt === undefined && data.by === "cancelled-call") job.isCalledOff = true
}

/** The tools whose answer shows where one job stands. */
const showing = new Set(["job_output", "job_kill", "bash", "subagent", "terminal_send"])

const show = (all: Map<string, Job>, { data, seq }: RawEvent): void => {
  if (!showing.has(data.name) || typeof data.value?.job_id !== "string" || !terminal.has(data.value.status)) return
  const job = all.get(data.value.job_id)
  if (job !== undefined) job.shownAt ??= seq
}

const name = (all: Map<string, Job>, id: string, seq: number): string | undefined => {
  const job = all.get(id)
  if (job?.settledAt === undefined) return `a notice tells of ${id}, which has not ended here`
  const isNews = job.namedAt === undefined
  job.namedAt ??= seq
  return isNews && job.shownAt !== undefined ? `a notice tells of ${id}, whose end a tool has shown` : undefined
}

const notice = (all: Map<string, Job>, id: string, seq: number): string | undefined => {
  const job = all.get(id)
  if (job?.settledAt === undefined || job.settledAt > seq) return `a notice tells of ${id}, which has not ended here`
  job.notices++
  return job.notices > 1 ? `a notice tells of ${id} again` : undefined
}

const atTheEnd = (id: string, job: Job): string | undefined => {
  if (job.settledAt === undefined) return `${id} never ends`
  // Whoever cancelled the call that waited for it knows that it ended, unless it failed to.
  const isKnown = job.isCalledOff && job.status !== "failed"
  return job.notices === 0 && job.shownAt === undefined && !isKnown ? `nobody was told of the end of ${id}` : undefined
}
