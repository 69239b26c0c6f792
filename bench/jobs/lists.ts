/** What is seen of the jobs of an owner that has had very many. */
import { join } from "node:path"
import { Jobs } from "@afterturn/jobs/Jobs"
import * as Effect from "effect/Effect"
import { memory, sqlite } from "../support/agents.js"
import type { Sides } from "../support/measure.js"
import { interleave, measure, speedup } from "../support/measure.js"
import type { Peers } from "../support/peers.js"
import type { Report } from "../support/report.js"
import { quick, rounds } from "../support/report.js"
import { scratchFolder } from "../support/scratch.js"
import { openJobs, runOne, withAgent } from "./runtime.js"

const records = quick ? 2_000 : 50_000

const peerList = "peers: list"
const list = "list"

export const lists = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const runtime = openJobs(sqlite(join(scratchFolder("job-lists"), "jobs.db"), "normal"))
  const few = openJobs(memory)
  await peers?.ask("jobRecords", { count: records })
  const found = await withAgent(few, (small) =>
    Effect.promise(() =>
      withAgent(runtime, (owner) =>
        Effect.promise(async () => {
          await few.runPromise(Effect.repeatN(runOne(small), 99))
          await runtime.runPromise(Effect.repeatN(runOne(owner), records - 1))
          const times = 200
          const ask = (on: typeof runtime, use: Effect.Effect<unknown, unknown, Jobs>) => () =>
            measure(times, () => on.runPromise(Effect.repeatN(use, times - 1)))
          const listOf = (session: typeof owner) => Effect.flatMap(Jobs, (jobs) => jobs.list(session))
          const get = (id: string) => Effect.flatMap(Jobs, (jobs) => jobs.get(id, owner))
          const sides: Sides = {
            ...(peers === undefined
              ? {}
              : {
                  [peerList]: () => peers.measure("jobList", { times: 3 }),
                  "peers: get one": () => peers.measure("jobGet", { times })
                }),
            [list]: ask(runtime, listOf(owner)),
            "list, of 100 jobs there ever were": ask(few, listOf(small)),
            "get a recent one": ask(runtime, get(`bash-${records - 10}`)),
            "get an old one that nobody was told of": ask(runtime, get(`bash-${records >> 1}`))
          }
          return interleave(rounds, sides)
        })
      )
    )
  )
  report.compare(
    `jobs of an owner that has had ${records.toLocaleString("en")}`,
    found,
    peers === undefined ? undefined : peerList
  )
  report.aim(
    "a list takes no longer for an owner that has had so many (≤ 1.3 ×)",
    1 / speedup(found[list] ?? [], found["list, of 100 jobs there ever were"] ?? [], "cpuMicros"),
    (it) => it <= 1.3
  )
  await runtime.dispose()
  await few.dispose()
}
