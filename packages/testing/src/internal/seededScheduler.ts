/** A scheduler whose dice decide which fiber goes on, and how far. */
import type * as Scheduler from "effect/Scheduler"
import type { Dice } from "../Dice.js"
import type { CountedScheduler } from "./countingScheduler.js"

/** Tasks run in one turn of the event loop before timers and I/O get theirs. */
const tasksPerTurn = 2048

/** Operations after which a fiber lets others go on: often after few, so that every place between two of them is one to stop at. */
const patience: ReadonlyArray<number> = [4, 16, 48, 128, 512, 2048]

/** Runs the waiting tasks one by one in an order of its own. Which of them is next is no promise of Effect. */
export class SeededScheduler implements CountedScheduler {
  scheduled = 0
  private readonly tasks: Array<Scheduler.Task> = []
  private running = false
  private readonly dice: Dice
  private limit: number

  constructor(dice: Dice) {
    this.dice = dice
    this.limit = dice.pick(patience)
  }

  readonly shouldYield: Scheduler.Scheduler["shouldYield"] = (fiber) => {
    if (fiber.currentOpCount <= this.limit) return false
    this.limit = this.dice.pick(patience)
    return 0
  }

  scheduleTask(task: Scheduler.Task): void {
    this.scheduled++
    this.tasks.push(task)
    if (this.running) return
    this.running = true
    queueMicrotask(() => this.drain(0))
  }

  isRunning(): boolean {
    return this.running
  }

  private drain(done: number): void {
    const { tasks } = this
    if (tasks.length === 0) {
      this.running = false
      return
    }
    const last = tasks.pop() as Scheduler.Task
    const at = this.dice.below(tasks.length + 1)
    const task = tasks[at] ?? last
    if (at < tasks.length) tasks[at] = last
    task()
    if (done < tasksPerTurn) queueMicrotask(() => this.drain(done + 1))
    else setImmediate(() => this.drain(0))
  }
}
