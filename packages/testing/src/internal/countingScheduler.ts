/** A scheduler that tells whether fibers have work. */
import * as Scheduler from "effect/Scheduler"

/** Batches of tasks run in one turn of the event loop before timers and I/O get theirs. */
const batchesPerTurn = 2048

/** A scheduler that tells how many tasks there have been, and whether any wait or run. */
export interface CountedScheduler extends Scheduler.Scheduler {
  readonly scheduled: number
  readonly isRunning: () => boolean
}

/** Runs tasks as Effect's own scheduler does, all fibers in one queue, and counts them. */
export class CountingScheduler implements CountedScheduler {
  /** How many tasks there have been. */
  scheduled = 0
  readonly shouldYield = Scheduler.defaultShouldYield

  private readonly runner = new Scheduler.SchedulerRunner((depth, drain) => {
    if (depth < batchesPerTurn) queueMicrotask(() => drain(depth + 1))
    else setImmediate(() => drain(0))
  })

  scheduleTask(task: Scheduler.Task, priority: number): void {
    this.scheduled++
    this.runner.scheduleTask(task, priority)
  }

  /** Whether tasks wait or run. */
  isRunning(): boolean {
    return this.runner.running
  }
}
