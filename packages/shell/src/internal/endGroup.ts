import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ProcessGroup } from "../ShellBackend.js"

/**
 * What it took to end a group. `nothing`: no member was alive. `alive`: even SIGKILL has not ended all of them yet.
 */
export type Ended = "nothing" | "SIGTERM" | "SIGKILL" | "alive"

/** How long SIGKILL is given: it works at once, unless a process is stuck in the kernel. */
const killLimit = Duration.seconds(5)

/** How long what has ended may wait to be collected by its parent, so that its number and its group are free as well. */
const reapLimit = Duration.millis(250)

/** Ends every member of a group, and answers once none is left, or once even SIGKILL did not do it in time. */
export const endGroup = Effect.fnUntraced(function* (
  group: ProcessGroup,
  grace: Duration.Duration
): Effect.fn.Return<Ended> {
  const { alive, unreaped } = yield* group.members
  if (alive + unreaped === 0) return "nothing"
  yield* group.signal("SIGTERM")
  if (yield* isGone(group, grace)) return "SIGTERM"
  const lastAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(killLimit)
  do {
    // Again and again: a member may start others faster than it is found.
    yield* group.signal("SIGKILL")
    if (yield* isGone(group, killPause)) return "SIGKILL"
  } while ((yield* Clock.currentTimeMillis) < lastAt)
  return "alive"
})

/** How long one SIGKILL is given before the next. */
const killPause = Duration.millis(500)

/** Goes on with SIGKILL until none is left. */
export const endStuck = (group: ProcessGroup): Effect.Effect<void> =>
  Effect.flatMap(Effect.zipRight(group.signal("SIGKILL"), isGone(group, killPause)), (isOver) =>
    isOver ? Effect.void : endStuck(group)
  )

/** Whether all members have ended before the time is over. */
const isGone = Effect.fnUntraced(function* (group: ProcessGroup, patience: Duration.Duration) {
  const lastAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(patience)
  let endedAt: number | undefined
  for (let wait = 2; ; wait = Math.min(wait * 2, 100)) {
    const { alive, unreaped } = yield* group.members
    const now = yield* Clock.currentTimeMillis
    if (alive > 0 && now >= lastAt) return false
    if (alive === 0) {
      endedAt ??= now
      if (unreaped === 0 || now >= endedAt + Duration.toMillis(reapLimit)) return true
    }
    yield* Effect.sleep(Duration.millis(wait))
  }
})
