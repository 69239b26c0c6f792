import * as fs from "node:fs"
import * as path from "node:path"
import { JobSpool } from "@afterturn/jobs/JobSpool"
import * as Files from "@afterturn/jobs/JobSpool/Files"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as fc from "fast-check"
import { runs } from "../../support/hostile.js"
import { folder } from "../../support/temporary.js"
import { bytes, key } from "../support/spoolContract.js"

const maxSpoolBytes = 400

/** What happens to a file, or comes beside it. */
const damage = fc.oneof(
  fc.record({ kind: fc.constant("cut" as const), file: fc.nat(9), at: fc.nat(120) }),
  fc.record({ kind: fc.constant("grow" as const), file: fc.nat(9), at: fc.nat(2_000) }),
  fc.record({ kind: fc.constant("remove" as const), file: fc.nat(9), at: fc.constant(0) }),
  fc.record({ kind: fc.constant("folder" as const), file: fc.nat(9), at: fc.constant(0) }),
  fc.record({ kind: fc.constant("link" as const), file: fc.nat(9), at: fc.constant(0) }),
  fc.record({ kind: fc.constant("stray" as const), file: fc.nat(9), at: fc.nat(6) })
)

const strayNames = [
  "9999999999999999.out",
  "0000009999999999.out",
  "0000000000000001.out",
  "0000000000000050.final.out",
  "-000000000000001.out",
  "0000000000000000.out.swp",
  "\u202e.out"
]

const apply = (
  directory: string,
  { at, file, kind }: { readonly kind: string; readonly file: number; readonly at: number }
) => {
  const names = fs.readdirSync(directory).sort()
  const name = path.join(directory, names[file % Math.max(1, names.length)] ?? "0000000000000000.out")
  if (kind === "stray") return fs.writeFileSync(path.join(directory, strayNames[at] ?? ""), "stray")
  if (kind === "cut")
    return fs.existsSync(name) && fs.statSync(name).isFile()
      ? fs.truncateSync(name, Math.min(at, fs.statSync(name).size))
      : undefined
  if (kind === "grow")
    return fs.existsSync(name) && fs.statSync(name).isFile() ? fs.appendFileSync(name, "+".repeat(at)) : undefined
  fs.rmSync(name, { recursive: true, force: true })
  if (kind === "folder") fs.mkdirSync(name)
  if (kind === "link") fs.symlinkSync("/nonexistent/target", name)
}

describe("a folder of output that somebody else changed", () => {
  it.live("is read to an end within bounds, or refused with a reason", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const process = <A, E>(use: (spool: typeof JobSpool.Service) => Effect.Effect<A, E>) =>
        Effect.provide(
          Effect.flatMap(JobSpool, use),
          Files.layer({ directory, maxSpoolBytes, segmentBytes: 100 }).pipe(Layer.provide(NodeContext.layer))
        )
      for (const changes of fc.sample(fc.array(damage, { minLength: 1, maxLength: 3 }), runs(25, 1_000))) {
        const place = yield* process((spool) =>
          Effect.as(spool.append(key(), bytes("0123456789".repeat(35))), spool.location(key()) ?? "")
        )
        for (const change of changes) apply(place, change)
        const what = JSON.stringify(changes)
        yield* process((spool) =>
          Effect.gen(function* () {
            const size = yield* Effect.either(spool.size(key()))
            // A reader that follows reads until nothing more comes: it must come to that soon.
            let next = 0
            let total = 0
            for (let pages = 0; ; pages++) {
              const page = yield* Effect.either(spool.read(key(), next, 1_000))
              if (Either.isLeft(page)) {
                assert.strictEqual(page.left._tag, "JobSpoolError", what)
                break
              }
              if (page.right === undefined || page.right.bytes.length === 0) break
              assert.isAtLeast(page.right.offset, next, what)
              next = page.right.offset + page.right.bytes.length
              total += page.right.bytes.length
              assert.isBelow(pages, 20, what)
            }
            assert.isAtMost(total, 10_000, what)
            if (Either.isRight(size))
              assert.isTrue(size.right === undefined || Number.isSafeInteger(size.right.size), what)
            yield* Effect.ignore(spool.remove(key().owner))
          })
        )
        fs.rmSync(place, { recursive: true, force: true })
      }
    }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))
  )
})
