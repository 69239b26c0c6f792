/** A store that holds many sessions: a new one with its first event, and pages of the list. */
import { join } from "node:path"
import type { SessionPage } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import { interleave, measure, median, speedup } from "../support/measure.js"
import type { Peers } from "../support/peers.js"
import type { Report } from "../support/report.js"
import { quick, rounds } from "../support/report.js"
import { scratchFolder } from "../support/scratch.js"
import { note } from "./note.js"
import type { Open } from "./store.js"
import { openSqlite } from "./store.js"

const createWithEvent = Effect.fnUntraced(function* (index: number) {
  const log = yield* SessionLog
  const { id } = yield* log.create({ cwd: `/home/somebody/project-${index % 20}`, title: `Session ${index}` })
  yield* log.append(id, [note(index)])
})

const fill = (store: Open, count: number): Promise<void> =>
  store.runPromise(
    Effect.forEach(
      Array.from({ length: count }, (_, index) => index),
      createWithEvent,
      { concurrency: 64, discard: true }
    )
  )

const list = (store: Open, options: { readonly cursor?: string; readonly cwd?: string }): Promise<SessionPage> =>
  store.runPromise(Effect.flatMap(SessionLog, (log) => log.list({ limit: 50, ...options })))

/** A cursor in the middle of the list. */
const middle = async (store: Open, sessions: number): Promise<{ readonly cursor?: string }> => {
  let cursor: string | undefined
  for (let seen = 0; seen < sessions / 2; seen += 50) {
    cursor = (await list(store, cursor === undefined ? {} : { cursor })).nextCursor
  }
  return cursor === undefined ? {} : { cursor }
}

export const manySessions = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const few = 100
  const many = quick ? 2_000 : 10_000
  const folder = scratchFolder("sessions")
  const small = openSqlite(join(folder, "few.db"), "normal")
  const large = openSqlite(join(folder, "many.db"), "normal")
  await fill(small, few)
  await fill(large, many)
  const later = await middle(large, many)
  const times = 20
  const create = (store: Open) => () =>
    measure(times, async () => {
      for (let index = 0; index < times; index++) await store.runPromise(createWithEvent(index))
    })
  const page = (store: Open, options: { readonly cursor?: string; readonly cwd?: string }) => () =>
    measure(times, async () => {
      for (let index = 0; index < times; index++) await list(store, options)
    })
  const stored = `${many.toLocaleString("en")} stored`
  await peers?.ask("manySessions", { sessions: many })
  const found = await interleave(rounds, {
    ...(peers === undefined
      ? {}
      : {
          [`peers: the first new session of a process, ${stored}`]: () =>
            peers.measure("firstSession", { sessions: many }),
          [`peers: the list, ${stored}`]: () => peers.measure("list", { sessions: many })
        }),
    [`new session with its first event, ${few} stored`]: create(small),
    [`new session with its first event, ${stored}`]: create(large),
    [`first page of 50, ${few} stored`]: page(small, {}),
    [`first page of 50, ${stored}`]: page(large, {}),
    [`a page from the middle, ${stored}`]: page(large, later),
    [`first page of one folder's, ${stored}`]: page(large, { cwd: "/home/somebody/project-3" })
  })
  report.compare("a store with many sessions", found, `new session with its first event, ${few} stored`)
  const millis = (name: string) => median((found[name] ?? []).map((one) => one.millis))
  const slowdown = (name: string, other: string) => 1 / speedup(found[name] ?? [], found[other] ?? [])
  const first = `new session with its first event, ${stored}`
  report.aim(`a new session beside ${stored}: a few ms (≤ 5)`, millis(first), (it) => it <= 5)
  report.aim(
    `… and as long as beside ${few} (≤ 1.3 ×)`,
    slowdown(first, `new session with its first event, ${few} stored`),
    (it) => it <= 1.3
  )
  report.aim(
    `a page of the list, ${stored}: a few ms (≤ 5)`,
    Math.max(millis(`first page of 50, ${stored}`), millis(`a page from the middle, ${stored}`)),
    (it) => it <= 5
  )
  await small.dispose()
  await large.dispose()
}
