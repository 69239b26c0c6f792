/** What happens in a run, made up from dice: what people do, and the weather. */
import type { Dice } from "../../Dice.js"
import type { Scenario } from "../../SimulationScenario.js"
import type { SimulationStep } from "../../SimulationStep.js"

const hosts = ["a", "b"] as const
const sessions = ["s1", "s2"] as const

/** How often each kind of step comes. */
const weights = {
  say: 30,
  wait: 26,
  crash: 7,
  boot: 6,
  stop: 2,
  open: 4,
  release: 4,
  fork: 2,
  fault: 6,
  slow: 4,
  provider: 4,
  cancel: 2,
  act: 8
}

/** Seconds that pass: often few, at times many. */
const pauses: ReadonlyArray<readonly [least: number, most: number]> = [
  [0, 3],
  [1, 60],
  [60, 600],
  [600, 3600],
  [3600, 4 * 3600]
]

/** A run lasts a day and a night at most. */
const longest = 30 * 3600

export const generate = <R>(scenario: Scenario<R>, dice: Dice, start: string): ReadonlyArray<SimulationStep> => {
  const steps: Array<SimulationStep> = [
    { do: "boot", host: "a" },
    { do: "open", host: "a", session: "s1" }
  ]
  const count = dice.between(14, 42)
  const people = dice.derive("people")
  /** As far as can be told: a crash may still be to come. */
  const up = new Set<(typeof hosts)[number]>(["a"])
  let left = longest
  let forks = 0
  while (steps.length < count) {
    const host = up.size > 0 && dice.chance(0.95) ? dice.pick([...up]) : dice.pick(hosts)
    const session = forks > 0 && dice.chance(0.25) ? `fork-${dice.between(1, forks)}` : dice.pick(sessions)
    const kind = dice.weighted(weights)
    switch (kind) {
      case "wait": {
        const [least, most] = dice.pick(pauses)
        const seconds = Math.min(left, dice.between(least, most))
        left -= seconds
        steps.push({ do: "wait", seconds })
        break
      }
      case "fork":
        steps.push({ do: "fork", host, session, as: `fork-${++forks}` })
        break
      case "say": {
        const replies = scenario.say(people, start)
        steps.push({ do: "say", host, session, replies, ...(dice.chance(0.2) ? { steer: true } : {}) })
        break
      }
      case "act":
        if (scenario.act !== undefined) steps.push({ do: "act", host, session, ...scenario.act(people) })
        break
      case "crash":
        steps.push({
          do: "crash",
          host,
          writes: dice.chance(0.15) ? 0 : dice.between(1, 12),
          when: dice.pick(["before", "after"])
        })
        if (dice.chance(0.5)) steps.push({ do: "say", host, session, replies: scenario.say(people, start) })
        if (dice.chance(0.5)) steps.push({ do: "wait", seconds: dice.pick([0, 0, 5, 60, 700]) })
        if (dice.chance(0.7)) steps.push({ do: "boot", host })
        else up.delete(host)
        break
      case "boot": {
        const other = dice.pick(hosts)
        up.add(other)
        steps.push({ do: "boot", host: other })
        break
      }
      case "stop":
        up.delete(host)
        steps.push({ do: "stop", host })
        break
      default:
        steps.push(weather(dice, kind, host, session))
    }
  }
  return steps
}

const weather = (
  dice: Dice,
  kind: "open" | "release" | "fault" | "slow" | "provider" | "cancel",
  host: string,
  session: string
): SimulationStep => {
  switch (kind) {
    case "fault":
      return {
        do: "fault",
        host,
        fault: dice.pick(["busy", "full", "read-only", "unavailable", "torn"]),
        operations: dice.between(1, 6),
        reads: dice.chance(0.3)
      }
    case "slow":
      return { do: "slow", host, operations: dice.pick([1, 3, 20]), millis: dice.pick([5, 200, 5000, 1_000_000]) }
    case "provider":
      return { do: "provider", host, requests: dice.between(1, 8), status: dice.pick([0, 400, 429, 503, 529]) }
    default:
      return { do: kind, host, session }
  }
}
