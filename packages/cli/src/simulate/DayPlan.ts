/**
 * What people ask for in a day, and what a model makes of that: rules of every kind, near the hours at which clocks change, and now and
 * then nonsense.
 *
 * @since 0.1.0
 */
import type { Dice } from "@afterturn/testing/Dice"
import type { Reply } from "@afterturn/testing/SimulationStep"

type Call = NonNullable<Reply["calls"]>[number]

const call = (tool: string, input: unknown): Call => ({ tool, input })

/** Days on whose night clocks change somewhere, and some on which none do. */
const starts: ReadonlyArray<readonly [day: string, zone: string]> = [
  ["2026-03-07", "America/New_York"],
  ["2026-03-28", "Europe/Berlin"],
  ["2026-04-04", "Australia/Lord_Howe"],
  ["2026-10-03", "Australia/Lord_Howe"],
  ["2026-10-24", "Europe/Berlin"],
  ["2026-10-31", "America/New_York"],
  ["2026-09-05", "America/Santiago"],
  ["2026-06-10", "Asia/Kolkata"],
  ["2026-12-31", "UTC"]
]

/**
 * A morning, often of a day before clocks change.
 *
 * @since 0.1.0
 * @category plans
 */
export const start = (dice: Dice): string => {
  const [day] = dice.pick(starts)
  return `${day}T${two(dice.between(6, 20))}:${two(dice.below(60))}:${two(dice.below(60))}.000Z`
}

const two = (value: number): string => String(value).padStart(2, "0")

const zoneOf = (dice: Dice, start: string): string => {
  const fitting = starts.find(([day]) => start.startsWith(day))?.[1]
  return fitting !== undefined && dice.chance(0.75) ? fitting : dice.pick(starts)[1]
}

/** A local time, often one that a change of clocks may skip or repeat. */
const localTime = (dice: Dice): string => {
  const hour = dice.chance(0.7) ? dice.between(0, 3) : dice.below(24)
  return `${two(hour)}:${two(dice.pick([0, 15, 29, 30, 45, 59]))}:00`
}

const cron = (dice: Dice): string =>
  dice.pick([
    () => `*/${dice.pick([15, 20, 30])} * * * *`,
    () => `${dice.pick([0, 30])} * * * *`,
    () => `${dice.pick([0, 15, 30, 45])} ${dice.between(0, 3)} * * *`,
    () => `30 1-3 * * ${dice.pick(["SUN", "0,1", "1-5", "*"])}`,
    () => `0 9-17/2 ${dice.between(1, 28)} * ${dice.pick(["MON", "6,7", "*"])}`,
    () => `0 0 ${dice.between(1, 31)} ${dice.pick(["jan", "4", "*", "10-12"])} *`
  ])()

const rule = (dice: Dice, start: string): Readonly<Record<string, unknown>> => {
  const time_zone = zoneOf(dice, start)
  const kind = dice.weighted({ after: 5, at: 3, atLocal: 3, every: 5, daily: 7, weekly: 4, cron: 7 })
  switch (kind) {
    case "after":
      return { after_seconds: dice.pick([1, 45, 600, 7200, dice.between(1, 40_000)]) }
    case "at":
      return { at: new Date(Date.parse(start) + dice.between(60, 100_000) * 1000).toISOString() }
    case "atLocal":
      return { at: { date: dayAfter(start, dice.between(0, 2)), time: localTime(dice), time_zone } }
    case "every":
      return { every_seconds: dice.pick([1200, 3600, 5400, 86_400]) }
    case "daily":
      return { daily: { time: localTime(dice), time_zone } }
    case "weekly":
      return {
        weekly: {
          time: localTime(dice),
          time_zone,
          weekdays: dice.pick([[7], [6, 7], [1, 3, 5], [1, 2, 3, 4, 5, 6, 7]])
        }
      }
    case "cron":
      return { cron: { expression: cron(dice), time_zone } }
  }
}

const dayAfter = (start: string, days: number): string =>
  new Date(Date.parse(start) + days * 86_400_000).toISOString().slice(0, 10)

const todos = (dice: Dice): ReadonlyArray<unknown> =>
  Array.from({ length: dice.below(5) }, (_, index) => ({
    content: dice.chance(0.1) ? ` thing ${index} ` : `thing ${dice.chance(0.05) ? 0 : index}-${dice.below(9)}`,
    status: dice.pick(["pending", "in_progress", "completed"])
  }))

const command = (dice: Dice): string =>
  [
    ...(dice.chance(0.15) ? ["trap '' TERM"] : []),
    ...(dice.chance(0.5) ? ["echo begun"] : []),
    `sleep ${dice.pick([0, 1, 5, 90, 600, 3000])}`,
    ...(dice.chance(0.4) ? ["echo done"] : []),
    ...(dice.chance(0.3) ? [`exit ${dice.below(4)}`] : [])
  ].join("; ")

/** Ids are small and predictable, so a guess is often right. */
const guess = (dice: Dice, kind: string): string => `${kind}-${dice.between(1, 4)}`

const work = (dice: Dice, start: string): Call => {
  const kind = dice.weighted({
    todo: 6,
    job: 7,
    foreground: 3,
    output: 4,
    wait: 2,
    kill: 2,
    list: 1,
    remind: 7,
    change: 3,
    forget: 1,
    goal: 4,
    finish: 2,
    look: 1,
    nonsense: 1
  })
  switch (kind) {
    case "todo":
      return call("todo_write", { todos: todos(dice) })
    case "job":
      return call("bash", { description: "work", command: command(dice), run_in_background: true })
    case "foreground":
      return call("bash", { description: "work", command: command(dice), timeoutMs: dice.pick([500, 5000, 120_000]) })
    case "output":
      return call("job_output", { job_id: guess(dice, "bash") })
    case "wait":
      return call("job_output", { job_id: guess(dice, "bash"), wait: true, timeout_ms: dice.pick([1000, 60_000]) })
    case "kill":
      return call("job_kill", { job_id: guess(dice, "bash"), reason: "no longer needed" })
    case "list":
      return call("job_list", {})
    case "remind":
      return call("schedule_create", { title: "a title", prompt: "look after it", ...rule(dice, start) })
    case "change":
      return call("schedule_update", {
        id: guess(dice, "schedule"),
        ...(dice.chance(0.4) ? { title: "another title" } : rule(dice, start))
      })
    case "forget":
      return call("schedule_delete", { id: guess(dice, "schedule") })
    case "goal":
      return call("create_goal", { objective: "get it done", max_goal_rounds: dice.between(1, 4) })
    case "finish":
      return call("update_goal", {
        goal_id: guess(dice, "goal"),
        revision: dice.between(1, 3),
        action: dice.pick(["pause", "resume", "complete", "edit"]),
        ...(dice.chance(0.3) ? { max_goal_rounds: dice.between(1, 5) } : {})
      })
    case "look":
      return call(dice.pick(["get_goal", "schedule_list"]), {})
    case "nonsense":
      return call(dice.pick(["todo_write", "no_such_tool", "bash"]), dice.pick([null, {}, "text", { todos: 3 }]))
  }
}

const some = <A>(count: number, make: () => A): ReadonlyArray<A> => Array.from({ length: count }, make)

/**
 * What the model does when a person speaks: some steps of work, and words.
 *
 * @since 0.1.0
 * @category plans
 */
export const say = (dice: Dice, start: string): ReadonlyArray<Reply> => [
  ...some(dice.below(3), () => ({ calls: some(dice.between(1, 3), () => work(dice, start)) })),
  { text: `I did ${dice.below(1000)}.` }
]

/**
 * What the model does when it is woken: it looks at the job that has ended, works on the goal or finishes it, or just nods.
 *
 * @since 0.1.0
 * @category plans
 */
export const answer = (text: string, dice: Dice): ReadonlyArray<Reply> | undefined => {
  const job = /\bbash-\d+/.exec(text)?.[0]
  const goal = /(goal-\d+) at revision (\d+)/.exec(text)
  const words = { text: `I see, ${dice.below(1000)}.` }
  if (goal !== null && dice.chance(0.4)) {
    const input = { goal_id: goal[1], revision: Number(goal[2]), action: dice.pick(["complete", "pause"]) }
    return [{ calls: [call("update_goal", input)] }, words]
  }
  if (job !== undefined && dice.chance(0.5)) return [{ calls: [call("job_output", { job_id: job })] }, words]
  if (dice.chance(0.3)) return [{ calls: [call("todo_write", { todos: todos(dice) })] }, words]
  if (dice.chance(0.15))
    return [{ calls: [call("bash", { description: "more", command: command(dice), run_in_background: true })] }, words]
  return [words]
}

/**
 * What a person does beside talking.
 *
 * @since 0.1.0
 * @category plans
 */
export const act = (dice: Dice): { readonly action: string; readonly input: unknown } => {
  const action = dice.pick([
    "goal-pause",
    "goal-resume",
    "goal-resume",
    "goal-clear",
    "reminder-pause",
    "reminder-resume",
    "reminder-run-now",
    "todo-write"
  ])
  return { action, input: action === "todo-write" ? todos(dice) : { id: guess(dice, "schedule") } }
}
