/**
 * What must hold of a database that its process left behind. Reads the tables themselves and shares nothing with the packages that
 * wrote them.
 */
import Sqlite from "better-sqlite3"

export interface Row {
  readonly seq: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** What a session is found to be. */
export interface Found {
  readonly faults: ReadonlyArray<string>
  readonly events: ReadonlyArray<Row>
}

interface Stored {
  readonly seq: number
  readonly type: string
  readonly data: string
}

/** The events of a session that was never forked, and what is wrong with the file, or with their row. */
export const readSession = (filename: string, session: string): Found => {
  const database = new Sqlite(filename, { fileMustExist: true })
  try {
    const faults: Array<string> = []
    const check = database.pragma("integrity_check", { simple: true })
    if (check !== "ok") faults.push(`integrity_check: ${check}`)
    const head = database
      .prepare<[string], { readonly segment: number; readonly last_seq: number }>(
        "SELECT segment, last_seq FROM afterturn_sessions WHERE id = ?"
      )
      .get(session)
    if (head === undefined) return { faults, events: [] }
    const rows = database
      .prepare<[number], Stored>("SELECT seq, type, data FROM afterturn_events WHERE segment = ? ORDER BY seq")
      .all(head.segment)
    rows.forEach((row, index) => {
      if (row.seq !== index) faults.push(`expected event ${index}, got ${row.seq}`)
    })
    if (head.last_seq !== rows.length - 1) faults.push(`last_seq is ${head.last_seq} beside ${rows.length} events`)
    return { faults, events: rows.map(({ data, seq, type }) => ({ seq, type, data: JSON.parse(data) })) }
  } finally {
    database.close()
  }
}

type Data = Readonly<Record<string, unknown>>

const list = (value: unknown): ReadonlyArray<Data> => (Array.isArray(value) ? (value as ReadonlyArray<Data>) : [])

/** The messages that entered the inbox and were not taken back unread, each once however often it was put back, with their source. */
const messagesOf = (events: ReadonlyArray<Row>): ReadonlyMap<string, Data> => {
  const messages = new Map<string, Data>()
  for (const { data, type } of events) {
    if (type !== "agent/inbox/spliced") continue
    if (data.op === "discard") for (const id of data.ids as ReadonlyArray<string>) messages.delete(id)
    for (const message of list(data.messages)) messages.set(String(message.id), message.source as Data)
  }
  return messages
}

/** Every mention of a thing by messages of a kind: how many different messages there are for each. */
const mentions = (
  messages: ReadonlyMap<string, Data>,
  kind: string,
  of: (source: Data) => ReadonlyArray<string>
): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const source of messages.values()) {
    if (source.kind !== kind) continue
    for (const name of of(source)) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

/** At any moment: nobody is told of the same thing twice, nothing ends twice, nothing ends that never began. */
export const neverTwice = (events: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const messages = messagesOf(events)
  for (const [job, times] of mentions(messages, "job-notice", ({ jobs }) => jobs as ReadonlyArray<string>)) {
    if (times > 1) faults.push(`${times} notices are about job ${job}`)
  }
  const due = mentions(messages, "reminder", ({ occurrences }) =>
    list(occurrences).map(({ id, occurrenceAt }) => `${id} at ${occurrenceAt}`)
  )
  for (const [occurrence, times] of due) if (times > 1) faults.push(`reminder ${occurrence} came ${times} times`)
  const rounds = mentions(messages, "goal-round", ({ goalId, round }) => [`${goalId} ${round}`])
  for (const [round, times] of rounds) if (times > 1) faults.push(`goal round ${round} came ${times} times`)
  const open = new Set<string>()
  for (const { data, seq, type } of events) {
    if (type === "job/start") open.add(String(data.id))
    if (type === "job/settle" && !open.delete(String(data.id)))
      faults.push(`event ${seq}: job ${data.id} settled and was not open`)
  }
  return faults
}

/** Once the last life has ended by itself: nothing is open, nothing waits, every job that ended was told of. */
export const nothingLeft = (events: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const open = new Map<string, string>()
  const waiting = new Set<string>()
  const told = mentions(messagesOf(events), "job-notice", ({ jobs }) => jobs as ReadonlyArray<string>)
  for (const { data, type } of events) {
    if (type === "turn/start") open.set("turn", `turn ${data.turn}`)
    if (type === "turn/end") open.delete("turn")
    if (type === "job/start") open.set(`job ${data.id}`, `job ${data.id}`)
    if (type === "job/settle") {
      open.delete(`job ${data.id}`)
      if (told.get(String(data.id)) === undefined) faults.push(`nobody was told of the end of job ${data.id}`)
    }
    if (type === "agent/inbox/spliced") {
      for (const { id } of list(data.messages)) waiting.add(String(id))
      for (const id of (data.ids ?? []) as ReadonlyArray<string>) waiting.delete(id)
    }
  }
  for (const what of open.values()) faults.push(`${what} is still open`)
  if (waiting.size > 0) faults.push(`${waiting.size} messages still wait`)
  return faults
}
