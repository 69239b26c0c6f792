import type { Evidence, Violation } from "../../SimulationCheck.js"

/** Nothing stays once every host has ended in order, and nothing has broken on the way. */
export const leftovers = ({ leftovers, logged, sessions }: Evidence): ReadonlyArray<Violation> => [
  ...sessions.flatMap(({ id, lease }) => (lease ? [{ session: id, problem: "its lease is still held" }] : [])),
  ...leftovers.map((left) => ({ session: "-", problem: `left behind: ${left}` })),
  ...logged.map((line) => ({ session: "-", problem: `logged: ${line}` }))
]
