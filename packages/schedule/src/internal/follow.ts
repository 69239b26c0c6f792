import type { Passed } from "./calendar.js"
import { nextAfter } from "./calendar.js"
import { maxMillis } from "./civil.js"
import type { Compiled } from "./compile.js"

/** The first occurrence after an instant, given one of the rule's occurrences; `undefined` when none comes. */
export const follow = (compiled: Compiled, after: number, anchor: number, passed?: Passed): number | undefined => {
  if (compiled.kind === "calendar") {
    const next = nextAfter(compiled.calendar, after, passed)
    return typeof next === "number" ? next : undefined
  }
  if (after < anchor) return anchor
  if (compiled.kind === "once") return undefined
  const found = anchor + (Math.floor((after - anchor) / compiled.interval) + 1) * compiled.interval
  return found <= maxMillis ? found : undefined
}
