// Background jobs of the peers.
import { bareAgent, liveAgent, start, stop } from "./system.mjs"

/** A registry for one measurement: records are never let go. */
const registry = async (options = {}) => {
  const running = await start({ jobs: true, ...options })
  const { context } = running
  if (options.notices !== true) context.jobs.attachController("bench")
  return running
}

const noop = (owner) => ({
  kind: "bash",
  label: "nothing to do",
  owner,
  run: () => ({ cancel: () => undefined, done: Promise.resolve({ status: "completed", output: "ok" }) })
})

/** Starts a job and waits for its end, as whoever listens hears of it. */
const runner = (context, owner) => {
  let heard
  context.jobs.onJobDone(() => heard())
  return () =>
    new Promise((resolve) => {
      heard = resolve
      context.jobs.start(noop(owner))
    })
}

const fill = async (context, owner, count) => {
  const runOne = runner(context, owner)
  for (let index = 0; index < count; index++) await runOne()
}

const held = (context, owner) => {
  let settle
  const done = new Promise((resolve) => {
    settle = resolve
  })
  const id = context.jobs.start({ kind: "bash", label: "held", owner, run: () => ({ cancel: () => undefined, done }) })
  return { id, end: () => settle({ status: "completed", output: "ok" }) }
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]

const latencies = (samples, cpuBefore) => {
  const cpu = process.cpuUsage(cpuBefore)
  const millis = median(samples)
  return { perSecond: 1000 / millis, millis, cpuMicros: (cpu.user + cpu.system) / samples.length }
}

const turnOver = () => new Promise((resolve) => setImmediate(resolve))

const heapUsed = async () => {
  for (let pass = 0; pass < 6; pass++) {
    globalThis.gc()
    await turnOver()
  }
  return process.memoryUsage().heapUsed
}

export const makeJobTasks = ({ freshName, timed }) => {
  /** The one with very many records, which lists are asked of. */
  let full

  return {
    jobs: async ({ count }) => {
      const running = await registry()
      const owner = await bareAgent(running.context, freshName())
      const measured = await timed(count, () => fill(running.context, owner, count))
      await stop(running)
      return measured
    },
    jobMemory: async ({ count }) => {
      const running = await registry()
      const owner = await bareAgent(running.context, freshName())
      await fill(running.context, owner, 1000)
      const before = await heapUsed()
      await fill(running.context, owner, count)
      const bytes = ((await heapUsed()) - before) / count
      await stop(running)
      return { bytes }
    },
    jobRecords: async ({ count }) => {
      const running = await registry()
      const owner = await bareAgent(running.context, freshName())
      await fill(running.context, owner, count)
      full = { running, owner, id: `bash-${count >> 1}` }
    },
    jobList: ({ times }) =>
      timed(times, () => {
        for (let index = 0; index < times; index++) full.running.context.jobs.list(full.owner)
      }),
    jobGet: ({ times }) =>
      timed(times, () => {
        for (let index = 0; index < times; index++) full.running.context.jobs.get(full.id, full.owner)
      }),
    jobWaits: async ({ count }) => {
      const running = await registry()
      const { context } = running
      const owner = await bareAgent(context, freshName())
      const samples = []
      const cpu = process.cpuUsage()
      for (let index = 0; index < count; index++) {
        const { end, id } = held(context, owner)
        const woken = context.jobs.wait(id, 60_000, owner).then(() => performance.now())
        await turnOver()
        const before = performance.now()
        end()
        samples.push((await woken) - before)
      }
      const measured = latencies(samples, cpu)
      await stop(running)
      return measured
    },
    jobTurns: async ({ count }) => {
      const running = await registry({ loop: true, notices: true })
      const { context, model } = running
      const agent = await liveAgent(context, freshName())
      const samples = []
      const cpu = process.cpuUsage()
      for (let index = 0; index < count; index++) {
        const { end } = held(context, agent)
        model.askedAt = 0
        const before = performance.now()
        end()
        while (model.askedAt === 0) await turnOver()
        samples.push(model.askedAt - before)
        await agent.whenIdle()
      }
      const measured = latencies(samples, cpu)
      await stop(running)
      return measured
    }
  }
}
