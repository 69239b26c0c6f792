/**
 * Appends to sessions of a database in durable commits, as fast as it goes, and says on stdout what was acknowledged. Arguments: the
 * file and a seed.
 */
import { writeSync } from "node:fs"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { random } from "../support/random.js"
import { dataOf, Entry, sessions } from "./entry.js"

const [, , filename = "", seed = "0"] = process.argv
const chance = random(Number(seed))

/** A pipe that is full says so: its reader looks at a copy just now. */
const say = (line: string): void => {
  try {
    writeSync(1, line)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "EAGAIN") throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    say(line)
  }
}

const write = (session: string) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const id = SessionId.make(session)
    if (!(yield* log.exists(id))) yield* log.create({ id })
    let next = (yield* log.lastSeq(id)) + 1
    while (true) {
      const count = 1 + chance.below(4)
      const events = Array.from({ length: count }, (_, index) =>
        Entry.make(dataOf(session, next + index, chance.below(10) === 0 ? chance.below(20_000) : chance.below(400)))
      )
      yield* log.append(id, events)
      next += count
      // Straight to the pipe: a buffer would be later than the commit by who knows how much.
      say(`${session} ${next - 1}\n`)
      // A reader that is slow leaves time to the others.
      yield* Effect.sleep(chance.below(3))
    }
  })

await Effect.runPromise(
  Effect.forEach(sessions, write, { concurrency: "unbounded", discard: true }).pipe(
    Effect.provide(Layer.provideMerge(EventTypes.layerRegister(Entry), layerSqlite({ filename, durability: "full" })))
  )
)
