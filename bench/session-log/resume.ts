/** How long a session's state takes to be there again after a restart, with and without a snapshot, and what an event takes on disk. */
import { join } from "node:path"
import * as Projection from "@afterturn/session-log/Projection"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Measured } from "../support/measure.js"
import { interleave, measure, speedup } from "../support/measure.js"
import type { Peers } from "../support/peers.js"
import { createRaw, openRaw } from "../support/raw.js"
import type { Report } from "../support/report.js"
import { quick, rounds } from "../support/report.js"
import { databaseBytes, scratchFolder } from "../support/scratch.js"
import { Mark, Note, note, noteBytes, rawNote } from "./note.js"
import { openSqlite } from "./store.js"

const State = Schema.Struct({ events: Schema.Int, characters: Schema.Int, last: Schema.String })

type State = typeof State.Type

interface Content {
  readonly id: string
  readonly content: ReadonlyArray<{ readonly text: string }>
}

const initial: State = { events: 0, characters: 0, last: "" }

const step = (state: State, type: string, data: unknown): State => {
  if (type !== Note.type) return { ...state, events: state.events + 1 }
  const { content, id } = data as Content
  const text = content.reduce((sum, block) => sum + block.text.length, 0)
  return { events: state.events + 1, characters: state.characters + text, last: id }
}

/** Looks at every event: the worst case. */
const everything = Projection.make({
  key: "bench/everything",
  version: 1,
  schema: State,
  initial,
  apply: (state, event) => step(state, event.type, event.data)
})

/** Looks at one event of a hundred, as a todo list does. */
const marks = Projection.make({
  key: "bench/marks",
  version: 1,
  schema: Schema.Struct({ turn: Schema.Int }),
  initial: { turn: 0 },
  types: [Mark.type],
  apply: (_, event) => ({ turn: (event.data as typeof Mark.schema.Type).turn })
})

const id = SessionId.make("raw")

/** A database with one long session, `snapshot` or none, and the bytes that it takes. */
const prepare = async (filename: string, length: number, snapshot: boolean): Promise<number> => {
  const store = openSqlite(filename, "normal")
  await store.runPromise(
    Effect.gen(function* () {
      const log = yield* SessionLog
      yield* log.create({ id })
      for (let from = 0; from < length; from += 500) {
        const events = Array.from({ length: Math.min(500, length - from) }, (_, index) =>
          (from + index) % 100 === 99 ? Mark.make({ turn: from + index }) : note(from + index)
        )
        yield* log.append(id, events)
      }
      if (!snapshot) return
      const projections = yield* Projection.Projections
      yield* projections.get(id, everything)
      yield* projections.get(id, marks)
      yield* projections.snapshot(id)
    })
  )
  await store.dispose()
  return databaseBytes(filename)
}

/** Opens the database anew and asks for the states. Long folds write no snapshot of their own: each round finds the same. */
const resume = async (filename: string, projection: Projection.Any): Promise<void> => {
  const store = openSqlite(filename, "normal", { snapshotEvery: Number.POSITIVE_INFINITY })
  await store.runPromise(Effect.flatMap(Projection.Projections, (projections) => projections.get(id, projection)))
  await store.dispose()
}

const rawResume = (filename: string): void => {
  const raw = openRaw(filename, "normal")
  let state = initial
  raw.fold((type, data) => {
    state = step(state, type, data)
  })
  raw.close()
}

export const resumes = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const folder = scratchFolder("resume")
  const long = quick ? 20_000 : 100_000
  const file = (name: string) => join(folder, name)
  await prepare(file("short.db"), long / 100, true)
  const bytes = await prepare(file("long.db"), long, true)
  await prepare(file("bare.db"), long, false)
  const events = (count: number) => count.toLocaleString("en")
  const with100 = `${events(long / 100)} events, with a snapshot`
  const withLong = `${events(long)} events, with a snapshot`
  const once = (filename: string, projection: Projection.Any) => () =>
    measure(1, () => resume(file(filename), projection))
  const theirs = (await peers?.ask("longSession", { events: long })) as { readonly bytesPerEvent: number } | undefined
  const found = await interleave(rounds, {
    ...(peers === undefined
      ? {}
      : { [`peers: resume of ${events(long)} events`]: () => peers.measure("resume", { events: long }) }),
    [with100]: once("short.db", everything),
    [withLong]: once("long.db", everything),
    [`${events(long)} events, every one folded`]: once("bare.db", everything),
    [`${events(long)} events, one of 100 folded`]: once("bare.db", marks),
    [`${events(long)} rows, raw: SELECT, JSON.parse, fold`]: () => measure(1, () => rawResume(file("bare.db")))
  })
  report.compare("resume: open the database, get a projection", found, with100)
  report.aim(
    "resume with a snapshot takes no longer for a log 100 × as long (≤ 1.3 ×)",
    slower(found, withLong, with100),
    (it) => it <= 1.3
  )
  report.figure("bytes of an event's data as JSON", noteBytes, "bytes")
  report.figure("bytes of an event on disk, everything counted", bytes / long, "bytes")
  if (theirs !== undefined) report.figure("bytes of an event on disk, peers (text)", theirs.bytesPerEvent, "bytes")
  report.figure("bytes of a row on disk, raw", await rawBytes(file("raw.db"), long), "bytes")
}

const slower = (found: Readonly<Record<string, ReadonlyArray<Measured>>>, name: string, other: string): number =>
  1 / speedup(found[name] ?? [], found[other] ?? [])

/** The same rows in the same table by plain INSERTs: what is left of the difference is this project's bookkeeping. */
const rawBytes = async (filename: string, count: number): Promise<number> => {
  const raw = await createRaw(filename, "normal")
  for (let from = 0; from < count; from += 500) {
    raw.insertAll(Array.from({ length: 500 }, (_, index) => rawNote(from + index)))
  }
  raw.close()
  return databaseBytes(filename) / count
}
