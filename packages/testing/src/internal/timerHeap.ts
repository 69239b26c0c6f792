/** Timers in order of due time, then of insertion. */

export interface Timer {
  readonly due: number
  readonly seq: number
  readonly fire: () => void
  /** Where it stands in the heap; -1 once it is out. */
  index: number
}

/** A binary heap that knows where each timer is, so that a cancelled one leaves nothing behind. */
export class TimerHeap {
  private readonly timers: Array<Timer> = []
  private seq = 0

  add(due: number, fire: () => void): Timer {
    const timer: Timer = { due, seq: this.seq++, fire, index: this.timers.length }
    this.timers.push(timer)
    this.rise(timer)
    return timer
  }

  /** Takes a timer out, if it is still in. */
  remove(timer: Timer): void {
    if (timer.index === -1) return
    const last = this.timers.pop() as Timer
    if (last !== timer) {
      this.place(last, timer.index)
      this.rise(last)
      this.sink(last)
    }
    timer.index = -1
  }

  peek(): Timer | undefined {
    return this.timers[0]
  }

  /** Due times, in order. */
  dues(): ReadonlyArray<number> {
    return this.timers.map((timer) => timer.due).sort((a, b) => a - b)
  }

  private place(timer: Timer, index: number): void {
    this.timers[index] = timer
    timer.index = index
  }

  private rise(timer: Timer): void {
    while (timer.index > 0) {
      const parent = this.timers[(timer.index - 1) >> 1] as Timer
      if (isBefore(parent, timer)) return
      this.swap(parent, timer)
    }
  }

  private sink(timer: Timer): void {
    for (;;) {
      const left = this.timers[2 * timer.index + 1]
      const right = this.timers[2 * timer.index + 2]
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left
      if (child === undefined || isBefore(timer, child)) return
      this.swap(timer, child)
    }
  }

  private swap(one: Timer, other: Timer): void {
    const { index } = one
    this.place(one, other.index)
    this.place(other, index)
  }
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.due < other.due || (one.due === other.due && one.seq < other.seq)
