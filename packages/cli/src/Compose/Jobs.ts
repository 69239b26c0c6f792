/**
 * What the command decides about jobs: where their output is, and what it takes to look at them.
 *
 * @since 0.1.0
 */
import * as path from "node:path"
import type { Agent } from "@afterturn/agent/Agent"
import { AgentBusy, AgentClosed } from "@afterturn/agent/Agent"
import { AgentExtensions, layerExtensions } from "@afterturn/agent/Agents"
import * as JobSpool from "@afterturn/jobs/JobSpool"
import * as FileSpool from "@afterturn/jobs/JobSpool/Files"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobsConfig from "@afterturn/jobs/JobsConfig"
import type { SessionHeader, SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { SessionLeased } from "@afterturn/session-log/SessionLogError"
import * as Shell from "@afterturn/shell/Shell"
import * as NodeShell from "@afterturn/shell/ShellBackend/Node"
import * as ShellConfig from "@afterturn/shell/ShellConfig"
import type { FileSystem } from "@effect/platform/FileSystem"
import type { Path } from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Database from "../Database.js"
import type { Store } from "./Store.js"

/**
 * The folder of the output of jobs: beside the database, `<file>.jobs`; for a server on this machine's own disk, in the data folder.
 * None for a database in memory.
 *
 * @since 0.1.0
 * @category accessors
 */
export const outputFolder = (db: string): Effect.Effect<string | undefined, never, Path> => {
  const named = Database.target(db)
  if (named._tag === "File") {
    return Effect.succeed(named.file === ":memory:" ? undefined : `${path.resolve(named.file)}.jobs`)
  }
  const name = named.place.replace(/^postgres:\/\//, "").replaceAll(/[^\w.-]+/g, "-")
  return Effect.map(Database.dataFolder, (folder) =>
    Option.getOrUndefined(Option.map(folder, (present) => path.join(present, `${name}.jobs`)))
  )
}

/**
 * @since 0.1.0
 * @category layers
 */
export const jobsConfig: Layer.Layer<JobsConfig.JobsConfig> = JobsConfig.layer().pipe(
  // The defaults are known to be fine.
  Layer.orDie
)

/**
 * The output of jobs of the sessions in a database. Old output is removed, unless `keepsAll`.
 *
 * @since 0.1.0
 * @category layers
 */
export const spoolLayer = (
  db: string,
  options?: { readonly keepsAll?: boolean }
): Layer.Layer<JobSpool.JobSpool, never, FileSystem | Path> =>
  Layer.unwrapEffect(
    Effect.map(outputFolder(db), (directory) =>
      directory === undefined
        ? JobSpool.layerMemory()
        : FileSpool.layer({ directory, ...(options?.keepsAll === true ? { retention: Duration.infinity } : {}) })
    )
  )

/**
 * Ends a process that a job's host left behind, where a dead host is cleaned up after.
 *
 * @since 0.1.0
 * @category layers
 */
export const shell: Layer.Layer<Shell.Shell | ShellConfig.ShellConfig> = Shell.layer.pipe(
  Layer.provideMerge(Layer.merge(NodeShell.layer, ShellConfig.layer())),
  // The defaults are known to be fine, and any variable of the environment is read as text.
  Layer.orDie
)

/**
 * Jobs as the log and the files have them, for commands that drive no session. Looking removes nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const jobsReader = (
  db: string
): Layer.Layer<Jobs.Jobs | JobSpool.JobSpool | AgentExtensions, never, Store | FileSystem | Path> =>
  Jobs.layerLocal.pipe(
    Layer.provide(jobsConfig),
    Layer.provideMerge(Layer.merge(layerExtensions, spoolLayer(db, { keepsAll: true })))
  )

/**
 * Takes the lease of a session that no process drives and settles the jobs that its last one left open, as its next agent would:
 * without a model, and without a turn.
 *
 * @since 0.1.0
 * @category operations
 */
export const settleLost = (
  id: SessionId
): Effect.Effect<void, ReadError | SessionLeased, Jobs.Jobs | AgentExtensions | SessionLeases | SessionLog> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { lastSeq: _, ...header } = yield* Effect.flatMap(SessionLog, (log) => log.header(id))
      const jobs = yield* Jobs.Jobs
      const { reap } = yield* Shell.Shell
      yield* jobs.registerReaper("bash", reap)
      yield* Effect.flatMap(SessionLeases, (leases) => leases.acquire(id))
      const extensions = yield* Effect.flatMap(AgentExtensions, ({ all }) => all)
      yield* Effect.forEach(extensions, (extend) => extend(caretaker(header)), { discard: true })
    })
  ).pipe(Effect.provide(shell))

/** An agent that takes nothing on. */
const caretaker = (header: SessionHeader): Agent => {
  const closed = new AgentClosed({ sessionId: header.id })
  return {
    id: header.id,
    header,
    wakesItself: false,
    status: Effect.succeed("idle"),
    statusChanges: Stream.make("idle" as const),
    followup: () => closed,
    steer: () => closed,
    inject: () => closed,
    withdraw: () => closed,
    cancel: () => closed,
    whenIdle: Effect.void,
    runMaintenance: () => new AgentBusy({ sessionId: header.id }),
    output: Stream.empty
  }
}
