/**
 * Measuring on a machine that does other things too: what is compared runs in turns within one process, each round gives one ratio,
 * and the median of the ratios counts. Beside the time on the wall stands the processor's, which others disturb less.
 */

/** What one side did in one round. */
export interface Measured {
  /** Operations a second, by the clock on the wall. */
  readonly perSecond: number
  /** Milliseconds of an operation, by the same clock. */
  readonly millis: number
  /** Processor microseconds of an operation, of all threads of the process. */
  readonly cpuMicros: number
}

/** Times work that consists of so many operations. */
export const measure = async (operations: number, work: () => Promise<unknown> | unknown): Promise<Measured> => {
  const cpuBefore = process.cpuUsage()
  const before = performance.now()
  await work()
  const elapsed = performance.now() - before
  const cpu = process.cpuUsage(cpuBefore)
  return {
    perSecond: (operations / elapsed) * 1000,
    millis: elapsed / operations,
    cpuMicros: (cpu.user + cpu.system) / operations
  }
}

export type Sides = Readonly<Record<string, () => Promise<Measured>>>

export type Rounds = Readonly<Record<string, ReadonlyArray<Measured>>>

/** One round of each side after the other, again and again; the first round, or as many as `warmUps` says, do not count. */
export const interleave = async (rounds: number, sides: Sides, warmUps = 1): Promise<Rounds> => {
  const names = Object.keys(sides)
  const results = new Map(names.map((name): [string, Array<Measured>] => [name, []]))
  for (let round = 0; round < warmUps + rounds; round++) {
    // Each goes first as often as the others.
    const order = names.map((_, index) => names[(index + round) % names.length] ?? "")
    for (const name of order) {
      const measured = await sides[name]?.()
      if (round >= warmUps && measured !== undefined) results.get(name)?.push(measured)
    }
  }
  return Object.fromEntries(results)
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** By how much a side is faster than another, round by round: by the clock, or by the processor time that it takes. */
export const speedup = (
  side: ReadonlyArray<Measured>,
  other: ReadonlyArray<Measured>,
  by: "millis" | "cpuMicros" = "millis"
): number => median(side.map((measured, index) => (other[index]?.[by] ?? Number.NaN) / measured[by]))

/** Waits until what was released is gone, then says how much of the heap is in use. */
export const heapUsed = async (): Promise<number> => {
  for (let pass = 0; pass < 6; pass++) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}
