import type { Evidence, RawEvent, RawSession, Violation } from "../../SimulationCheck.js"
import type { RawRule } from "./occurrences.js"
import { comesOnce, firstOf, nextAfter } from "./occurrences.js"
import { delivered, insertedBy, numberOf, own, usedUp } from "./own.js"

interface Reminder {
  readonly rule: RawRule
  readonly scheduledAt: number
  readonly isPaused: boolean
  /** Finished or deleted. */
  readonly isOver: boolean
  readonly isDeleted: boolean
}

interface Dispatch {
  readonly id: string
  readonly at: string
  readonly seq: number
}

/** Each occurrence comes once, at its instant and not before, or is counted as missed by the one that does. */
export const reminders = ({ now, sessions }: Evidence): ReadonlyArray<Violation> =>
  sessions.flatMap((session) => ofSession(session, Date.parse(now)))

/** Within this time a host has delivered what is due, when nothing keeps it from that. */
const grace = 10 * 60_000

const ofSession = (session: RawSession, now: number): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const say = (seq: number | undefined, problems: ReadonlyArray<string>): void => {
    for (const problem of problems) found.push({ session: session.id, ...(seq === undefined ? {} : { seq }), problem })
  }
  const all = new Map<string, Reminder>()
  const dispatches: Array<Dispatch> = []
  let used = usedUp(session, ({ data, type }) =>
    type === "schedule/change" ? (data.record?.id ?? data.id) : undefined
  )
  for (const event of own(session)) {
    if (event.type !== "schedule/change") continue
    const { data } = event
    say(event.seq, data.operation === "create" ? created(all, event, used) : changed(all, event))
    used = Math.max(used, numberOf(data.record?.id ?? data.id))
    if (data.operation === "dispatch") dispatches.push({ id: data.id, at: data.occurrenceAt, seq: event.seq })
    // Whatever was delivered before, an occurrence at hand is one of its own.
    if (data.operation === "run-now") dispatches.push({ id: data.id, at: handedOver(session, event), seq: event.seq })
  }
  say(undefined, deliveries(session, dispatches))
  for (const [id, reminder] of all) {
    if (!reminder.isOver && !reminder.isPaused && reminder.scheduledAt < now - grace) {
      say(undefined, [`${id} was due at ${iso(reminder.scheduledAt)} and has not come by ${iso(now)}`])
    }
  }
  return found
}

const iso = (millis: number | undefined): string => (millis === undefined ? "never" : new Date(millis).toISOString())

const expect = (what: string, found: string, wanted: string): ReadonlyArray<string> =>
  found === wanted ? [] : [`${what}: expected ${wanted}, got ${found}`]

const created = (all: Map<string, Reminder>, { data: { record } }: RawEvent, used: number): ReadonlyArray<string> => {
  all.set(record.id, {
    rule: record.rule,
    scheduledAt: Date.parse(record.scheduledAt),
    isPaused: false,
    isOver: false,
    isDeleted: false
  })
  return [
    ...(numberOf(record.id) > used ? [] : [`the id ${record.id} was used before`]),
    ...expect(
      `the first time of ${record.id}`,
      record.scheduledAt,
      iso(firstOf(record.rule, Date.parse(record.createdAt)))
    )
  ]
}

const changed = (all: Map<string, Reminder>, event: RawEvent): ReadonlyArray<string> => {
  const { operation } = event.data
  const id: string = event.data.record?.id ?? event.data.id
  const before = all.get(id)
  if (before === undefined) return [`${operation} of ${id}, which is not there`]
  if (before.isDeleted || (before.isOver && operation !== "delete")) return [`${operation} of ${id}, which is over`]
  switch (operation) {
    case "dispatch":
      return dispatched(all, id, before, event)
    case "update":
      return updated(all, id, before, event)
    case "pause":
      all.set(id, { ...before, isPaused: true })
      return before.isPaused ? [`pause of ${id}, which is paused`] : []
    case "resume":
      return resumed(all, id, before, event)
    case "delete":
      all.set(id, { ...before, isOver: true, isDeleted: true })
      return []
    case "run-now":
      return []
    default:
      return [`an unknown operation ${operation}`]
  }
}

/** The occurrence is the latest that is due, those before it are counted, the next one follows. */
const dispatched = (
  all: Map<string, Reminder>,
  id: string,
  before: Reminder,
  { data, time }: RawEvent
): ReadonlyArray<string> => {
  const acceptedAt = Date.parse(data.acceptedAt)
  let at = before.scheduledAt
  let missed = 0
  for (let next = following(before, at); next !== undefined && next <= acceptedAt; next = following(before, next)) {
    at = next
    missed++
  }
  const next = following(before, at)
  all.set(id, { ...before, scheduledAt: next ?? before.scheduledAt, isOver: next === undefined })
  return [
    ...(before.isPaused ? [`${id} comes and is paused`] : []),
    ...(acceptedAt < at || time < data.occurrenceAt
      ? [`${id} comes at ${data.acceptedAt} and is due at ${data.occurrenceAt}`]
      : []),
    ...expect(`the occurrence of ${id}`, data.occurrenceAt, iso(at)),
    ...expect(`what ${id} missed`, String(data.missed), String(missed)),
    ...expect(`the next time of ${id}`, data.scheduledAt ?? "never", iso(next))
  ]
}

const following = ({ rule, scheduledAt }: Reminder, after: number): number | undefined =>
  comesOnce(rule) ? undefined : nextAfter(rule, after, scheduledAt)

/** Another rule counts from the update; under the same one the next time stays. */
const updated = (
  all: Map<string, Reminder>,
  id: string,
  before: Reminder,
  { data: { record }, time }: RawEvent
): ReadonlyArray<string> => {
  const scheduledAt = Date.parse(record.scheduledAt)
  all.set(id, { ...before, rule: record.rule, scheduledAt })
  if (JSON.stringify(record.rule) === JSON.stringify(before.rule) && scheduledAt === before.scheduledAt) return []
  // The update was decided a little before it was stored.
  if ("every_seconds" in record.rule) {
    const madeAt = scheduledAt - record.rule.every_seconds * 1000
    return madeAt <= Date.parse(time) && madeAt > Date.parse(time) - grace ? [] : [`${id} is not aligned to its update`]
  }
  return expect(`the next time of ${id}`, record.scheduledAt, iso(firstOf(record.rule, scheduledAt - 1)))
}

const resumed = (
  all: Map<string, Reminder>,
  id: string,
  before: Reminder,
  { data, time }: RawEvent
): ReadonlyArray<string> => {
  const scheduledAt = Date.parse(data.scheduledAt)
  all.set(id, { ...before, isPaused: false, scheduledAt })
  return [
    ...(before.isPaused ? [] : [`resume of ${id}, which is not paused`]),
    ...(scheduledAt > Date.parse(time) - grace ? [] : [`${id} goes on with ${data.scheduledAt}, which is over`]),
    ...(scheduledAt === before.scheduledAt
      ? []
      : expect(`the next time of ${id}`, data.scheduledAt, iso(following(before, scheduledAt - 1))))
  ]
}

/** What a reminder was run by hand for: the occurrence that the same append has put into the inbox. */
const handedOver = (session: RawSession, { data, seq }: RawEvent): string => {
  const before = session.events.slice(session.seedLength, seq).findLast((event) => insertedBy(event).length > 0)
  const occurrences = before === undefined ? [] : insertedBy(before).flatMap(occurrencesOf)
  return occurrences.find(({ id }) => id === data.id)?.occurrenceAt ?? "nowhere"
}

interface Occurrence {
  readonly id: string
  readonly occurrenceAt: string
}

const occurrencesOf = ({ source }: { readonly source: { readonly kind: string; readonly occurrences?: unknown } }) =>
  source.kind === "reminder" ? (source.occurrences as ReadonlyArray<Occurrence>) : []

/** Each occurrence reaches a turn once, unless a later one of its reminder took its place while it waited. */
const deliveries = (session: RawSession, dispatches: ReadonlyArray<Dispatch>): ReadonlyArray<string> => {
  const known = new Set(dispatches.map(({ at, id }) => `${id} ${at}`))
  const handed = own(session).flatMap(insertedBy).flatMap(occurrencesOf).map(keyOf)
  const reached = new Map<string, number>()
  for (const { message } of delivered(session)) {
    for (const occurrence of occurrencesOf(message)) {
      reached.set(keyOf(occurrence), (reached.get(keyOf(occurrence)) ?? 0) + 1)
    }
  }
  return [
    ...[...new Set(handed)].filter((key) => !known.has(key)).map((key) => `${key} was handed over and is not recorded`),
    ...[...reached].filter(([, times]) => times > 1).map(([key, times]) => `${key} came ${times} times`),
    ...dispatches
      .filter(({ at, id, seq }) => !reached.has(`${id} ${at}`) && !isReplaced(dispatches, id, seq))
      .map(({ at, id }) => `${id} ${at} is recorded and never came`)
  ]
}

const keyOf = ({ id, occurrenceAt }: Occurrence): string => `${id} ${occurrenceAt}`

const isReplaced = (dispatches: ReadonlyArray<Dispatch>, id: string, seq: number): boolean =>
  dispatches.some((later) => later.id === id && later.seq > seq)
