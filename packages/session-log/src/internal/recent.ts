import type { SessionEvent } from "../SessionEvent.js"
import type { CheckedEvent } from "./check.js"
import { stored } from "./rows.js"

/** What is kept, of one session: a step of an agent, not its history. */
const maxAppends = 32
const maxSize = 256 * 1024

/** Events that were committed together. `size` is about what they occupy as text. */
export interface Committed {
  readonly firstSeq: number
  readonly events: ReadonlyArray<CheckedEvent>
  readonly time: number
  readonly size: number
}

/**
 * The newest events that this process committed under a lease, each right after the one before: a fold that is nearly there goes on
 * with them and need not ask the store. They were checked before they were stored.
 */
export class Recent {
  private appends: Array<Committed> = []
  private size = 0

  add(committed: Committed): void {
    const last = this.appends.at(-1)
    if (last !== undefined && last.firstSeq + last.events.length !== committed.firstSeq) {
      this.appends = []
      this.size = 0
    }
    this.appends.push(committed)
    this.size += committed.size
    while (this.appends.length > maxAppends || this.size > maxSize) this.size -= this.appends.shift()?.size ?? 0
  }

  /** The events of a range, or `undefined` when one of them is not here. */
  range(fromSeq: number, toSeq: number): ReadonlyArray<SessionEvent> | undefined {
    const [first] = this.appends
    const last = this.appends.at(-1)
    if (first === undefined || last === undefined) return undefined
    if (fromSeq < first.firstSeq || toSeq >= last.firstSeq + last.events.length) return undefined
    const events: Array<SessionEvent> = []
    for (const { events: all, firstSeq, time } of this.appends) {
      for (let seq = Math.max(fromSeq, firstSeq); seq <= toSeq && seq < firstSeq + all.length; seq++) {
        events.push(stored(all[seq - firstSeq]!, seq, time))
      }
    }
    return events
  }
}
