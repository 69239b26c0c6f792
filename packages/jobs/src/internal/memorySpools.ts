import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { JobSpool, SpoolKey } from "../JobSpool.js"
import { MemorySpool } from "./memorySpool.js"

/** What an entry costs beside its bytes, so that many tiny outputs are bounded as well. */
const entryBytes = 512

export const makeMemorySpools = (maxSpoolBytes: number, maxTotalBytes: number): Context.Tag.Service<JobSpool> => {
  const spools = new Map<string, MemorySpool>()
  // In the order of their ends, with what each counts.
  const ended = new Map<string, number>()
  let endedBytes = 0

  const forget = (name: string): void => {
    spools.delete(name)
    endedBytes -= ended.get(name) ?? 0
    ended.delete(name)
  }

  return {
    append: (key, bytes, options) =>
      Effect.sync(() => {
        const name = nameOf(key)
        const spool = spools.get(name) ?? new MemorySpool(maxSpoolBytes)
        spools.set(name, spool)
        return spool.append(bytes, options?.final ?? false)
      }),
    end: (key) =>
      Effect.sync(() => {
        const name = nameOf(key)
        const spool = spools.get(name)
        if (spool === undefined || ended.has(name)) return
        const bytes = spool.kept + entryBytes
        ended.set(name, bytes)
        endedBytes += bytes
        for (const oldest of ended.keys()) {
          if (endedBytes <= maxTotalBytes) break
          forget(oldest)
        }
      }),
    read: (key, from, limit) => Effect.sync(() => spools.get(nameOf(key))?.read(from, limit)),
    size: (key) =>
      Effect.sync(() => {
        const spool = spools.get(nameOf(key))
        return spool === undefined ? undefined : { size: spool.size, finalFrom: spool.finalFrom }
      }),
    location: () => undefined,
    remove: (owner) =>
      Effect.sync(() => {
        const prefix = nameOf({ owner, id: "" as SpoolKey["id"] })
        for (const name of [...spools.keys()]) if (name.startsWith(prefix)) forget(name)
      })
  }
}

const nameOf = (key: SpoolKey): string => `${key.owner ?? ""}/${key.id}`
