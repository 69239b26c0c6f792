import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { TerminalProcess } from "../TerminalBackend.js"

/** How long SIGKILL is given: it works at once, unless a process is stuck in the kernel. */
const killLimit = Duration.seconds(5)

/** How long one SIGKILL is given before the next. */
const killPause = Duration.millis(500)

/** Ends every process of a terminal, and says how many even SIGKILL did not end in time. */
export const endFamily = Effect.fnUntraced(function* (
  family: Pick<TerminalProcess, "alive" | "signalAll">,
  grace: Duration.DurationInput
): Effect.fn.Return<number> {
  if ((yield* family.alive) === 0) return 0
  yield* family.signalAll("SIGHUP")
  let left = yield* waitForEnd(family, Duration.decode(grace))
  const lastAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(killLimit)
  while (left > 0 && (yield* Clock.currentTimeMillis) < lastAt) {
    // Again and again: a process may start others faster than it is found.
    yield* family.signalAll("SIGKILL")
    left = yield* waitForEnd(family, killPause)
  }
  return left
})

/** How many are alive once none is, or once the time is over. */
const waitForEnd = Effect.fnUntraced(function* (family: Pick<TerminalProcess, "alive">, patience: Duration.Duration) {
  const lastAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(patience)
  for (let wait = 5; ; wait = Math.min(wait * 2, 100)) {
    const alive = yield* family.alive
    if (alive === 0 || (yield* Clock.currentTimeMillis) >= lastAt) return alive
    yield* Effect.sleep(Duration.millis(wait))
  }
})
