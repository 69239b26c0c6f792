/** Folders that go with their test. */

import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

export const folder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "afterturn-"))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** A layer over a file in a folder of its own. */
export const withFile = <A, E, R>(layer: (filename: string) => Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.unwrapScoped(Effect.map(folder, (made) => layer(path.join(made, "sessions.db"))))
