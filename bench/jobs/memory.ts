/** What a job leaves on the heap once it has ended. */
import { join } from "node:path"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import { sqlite } from "../support/agents.js"
import { heapUsed } from "../support/measure.js"
import type { Peers } from "../support/peers.js"
import type { Report } from "../support/report.js"
import { quick } from "../support/report.js"
import { scratchFolder } from "../support/scratch.js"
import { openJobs, runOne, withAgent } from "./runtime.js"

const count = quick ? 1_000 : 10_000

/** A job, and, with `told`, the answer of the tool that showed its end to the model. */
const runAndTell = (owner: SessionId, told: boolean) =>
  Effect.gen(function* () {
    const { id, status } = yield* runOne(owner)
    if (!told) return
    const log = yield* SessionLog
    const shown = { callId: "c", name: "job_output", ok: true, text: "", value: { job_id: id, status } }
    yield* log.append(owner, [AgentEvents.ToolResult.make(shown)])
  })

/** Bytes that each job adds to the heap, once the newest that are kept are full. */
const bytesPerJob = async (filename: string, told: boolean): Promise<number> => {
  const runtime = openJobs(sqlite(filename, "normal"), { keptOutput: 64 * 1024 })
  const bytes = await withAgent(runtime, (owner) =>
    Effect.gen(function* () {
      yield* Effect.repeatN(runAndTell(owner, told), 999)
      const before = yield* Effect.promise(heapUsed)
      yield* Effect.repeatN(runAndTell(owner, told), count - 1)
      return ((yield* Effect.promise(heapUsed)) - before) / count
    })
  )
  await runtime.dispose()
  return bytes
}

export const memoryOfJobs = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const folder = scratchFolder("job-memory")
  const told = await bytesPerJob(join(folder, "told.db"), true)
  report.figure("heap kept of a finished job that the model was told of", told, "bytes")
  report.figure(
    "the same, of one that nobody was told of, while nobody looks at the ledger",
    await bytesPerJob(join(folder, "untold.db"), false),
    "bytes"
  )
  report.aim("a finished job that was told keeps nothing (≤ 10 bytes)", told, (it) => it <= 10)
  if (peers === undefined) return
  const { bytes } = (await peers.ask("jobMemory", { count })) as { readonly bytes: number }
  report.figure("peers: heap kept of a finished job", bytes, "bytes")
}
