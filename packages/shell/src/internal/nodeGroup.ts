import * as Effect from "effect/Effect"
import type { ProcessGroup } from "../ShellBackend.js"
import type { ProcessTable } from "./processTable.js"

/**
 * The processes that a leader started and that stayed in its session. As long as one of them lives, the leader's number is given to
 * nobody else.
 */
export const make = (table: ProcessTable, leader: number): ProcessGroup => ({
  members: Effect.map(table.membersOf(leader), (members) => {
    const alive = members.filter(({ isZombie }) => !isZombie).length
    return { alive, unreaped: members.length - alive }
  }),
  signal: (signal) =>
    Effect.map(table.membersOf(leader), (members) => {
      for (const group of new Set(members.map((member) => member.group))) {
        send(group, signal)
        // A stopped process takes no other signal before it goes on.
        if (signal === "SIGTERM") send(group, "SIGCONT")
      }
    })
})

/** A group that is gone, or that may not be signalled, shows in the next look at the members. */
export const send = (group: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-group, signal)
  } catch {
    return
  }
}
