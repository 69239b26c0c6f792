/** Valid histories of reminders, made at random by the rules of the log's language and not by the fold that is tested. */
import { format } from "@afterturn/session-log/Instant"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as FastCheck from "effect/FastCheck"

const start = Date.UTC(2026, 0, 1)

interface Model {
  readonly number: number
  readonly every: number | undefined
  readonly createdAt: number
  scheduled: number
  paused: boolean
}

export interface History {
  readonly events: ReadonlyArray<SessionEvent>
  /** What must be left: each active reminder with its instant and whether it is paused. */
  readonly active: ReadonlyArray<readonly [id: string, scheduledAt: string, paused: boolean]>
  readonly finished: ReadonlyArray<number>
}

const step = FastCheck.record({
  kind: FastCheck.constantFrom(
    "create",
    "create",
    "dispatch",
    "dispatch",
    "update",
    "pause",
    "resume",
    "delete",
    "run-now"
  ),
  pick: FastCheck.nat({ max: 1000 }),
  seconds: FastCheck.integer({ min: 1, max: 100_000 }),
  once: FastCheck.boolean(),
  text: FastCheck.string({ minLength: 1, maxLength: 12 })
})

type Step = typeof step extends FastCheck.Arbitrary<infer A> ? A : never

export const histories = FastCheck.array(step, { maxLength: 40 }).map((steps) => play(steps))

const play = (steps: ReadonlyArray<Step>): History => {
  const data: Array<unknown> = []
  const active: Array<Model> = []
  const finished: Array<number> = []
  let last = 0
  let now = start
  const add = (operation: string, rest: object) => data.push({ version: 1, operation, ...rest })
  const record = (model: Model, text: string) => ({
    id: `schedule-${model.number}`,
    title: text,
    prompt: text,
    rule:
      model.every === undefined
        ? { after_seconds: (model.scheduled - model.createdAt) / 1000 }
        : { every_seconds: model.every },
    createdAt: format(model.createdAt),
    scheduledAt: format(model.scheduled)
  })
  for (const { kind, once, pick, seconds, text } of steps) {
    now += 1000
    const one = active[pick % Math.max(1, active.length)]
    if (kind === "create") {
      const model: Model = {
        number: ++last,
        every: once ? undefined : seconds,
        createdAt: now,
        scheduled: now + seconds * 1000,
        paused: false
      }
      active.push(model)
      add("create", { record: record(model, text) })
      continue
    }
    if (kind === "delete" && one === undefined && finished.length > 0) {
      add("delete", { id: `schedule-${finished.splice(pick % finished.length, 1)[0]}` })
      continue
    }
    if (one === undefined) continue
    const id = `schedule-${one.number}`
    switch (kind) {
      case "dispatch": {
        if (one.paused) break
        now = Math.max(now, one.scheduled)
        const missed = one.every === undefined ? 0 : Math.floor((now - one.scheduled) / (one.every * 1000))
        const occurrence = one.scheduled + missed * (one.every ?? 0) * 1000
        const next = one.every === undefined ? {} : { scheduledAt: format(occurrence + one.every * 1000) }
        add("dispatch", { id, occurrenceAt: format(occurrence), acceptedAt: format(now), missed, ...next })
        if (one.every === undefined) {
          active.splice(active.indexOf(one), 1)
          finished.push(one.number)
        } else one.scheduled = occurrence + one.every * 1000
        break
      }
      case "update":
        add("update", { record: record(one, text) })
        break
      case "pause":
        if (one.paused) break
        one.paused = true
        add("pause", { id })
        break
      case "resume":
        if (!one.paused) break
        one.paused = false
        if (one.every !== undefined) one.scheduled += (pick % 3) * one.every * 1000
        add("resume", { id, scheduledAt: format(one.scheduled) })
        break
      case "delete":
        active.splice(active.indexOf(one), 1)
        add("delete", { id })
        break
      case "run-now":
        add("run-now", { id })
        break
    }
  }
  return {
    events: data.map((each, seq) => eventOf(each, seq)),
    active: active.map(({ number, paused, scheduled }) => [`schedule-${number}`, format(scheduled), paused]),
    finished: finished.sort((a, b) => a - b)
  }
}

export const eventOf = (data: unknown, seq: number): SessionEvent => ({
  seq,
  type: "schedule/change",
  time: "2026-01-01T00:00:00.000Z",
  data
})
