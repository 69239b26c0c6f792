import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** What a protocol is written to. */
export type ProtocolOutput = Pick<NodeJS.WriteStream, "write" | "on" | "off">

/**
 * Takes stdout for a protocol: whatever else in this process writes to it, such as a `console.log`, comes out on stderr.
 */
export const protocolOutput: Effect.Effect<ProtocolOutput, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const { stderr, stdout } = process
      const write = stdout.write
      stdout.write = stderr.write.bind(stderr) as typeof stdout.write
      return write
    }),
    (write) =>
      Effect.sync(() => {
        process.stdout.write = write
      })
  ),
  (write) => ({
    write: write.bind(process.stdout) as ProtocolOutput["write"],
    on: process.stdout.on.bind(process.stdout),
    off: process.stdout.off.bind(process.stdout)
  })
)
