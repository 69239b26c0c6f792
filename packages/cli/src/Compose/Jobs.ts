/**
 * What the command decides about jobs: where their output is, and what it takes to look at them.
 *
 * @since 0.1.0
 */
import * as path from "node:path"
import { layerExtensions } from "@afterturn/agent/Agents"
import * as JobSpool from "@afterturn/jobs/JobSpool"
import * as FileSpool from "@afterturn/jobs/JobSpool/Files"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobsConfig from "@afterturn/jobs/JobsConfig"
import type { FileSystem } from "@effect/platform/FileSystem"
import type { Path } from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import type { Store } from "./Store.js"

/**
 * The folder of the output of jobs: beside the database, `<file>.jobs`. None for a database in memory.
 *
 * @since 0.1.0
 * @category accessors
 */
export const outputFolder = (db: string): string | undefined =>
  db === ":memory:" ? undefined : `${path.resolve(db)}.jobs`

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
): Layer.Layer<JobSpool.JobSpool, never, FileSystem | Path> => {
  const directory = outputFolder(db)
  if (directory === undefined) return JobSpool.layerMemory()
  return FileSpool.layer({ directory, ...(options?.keepsAll === true ? { retention: Duration.infinity } : {}) })
}

/**
 * Jobs as the log and the files have them, for commands that drive no session. Looking removes nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const jobsReader = (db: string): Layer.Layer<Jobs.Jobs | JobSpool.JobSpool, never, Store | FileSystem | Path> =>
  Jobs.layerLocal.pipe(
    Layer.provide(Layer.merge(jobsConfig, layerExtensions)),
    Layer.provideMerge(spoolLayer(db, { keepsAll: true }))
  )
