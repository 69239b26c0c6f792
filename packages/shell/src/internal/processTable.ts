import * as ChildProcess from "node:child_process"
import * as FileSystem from "node:fs"
import * as Effect from "effect/Effect"

/**
 * A process as the operating system lists it. `session` is absent where it shows none.
 */
interface Entry {
  readonly pid: number
  readonly group: number
  readonly session: number | undefined
  readonly isZombie: boolean
}

/**
 * What can be seen of other processes. An answer is as old as the moment it was asked for.
 */
export interface ProcessTable {
  /** Who is in the session, or the group where sessions are not shown, that this process leads or led. */
  readonly membersOf: (leader: number) => Effect.Effect<ReadonlyArray<Entry>>
  /** Whether the environment that a process was started with holds this variable; `undefined`: it cannot be seen. */
  readonly hasVariable: (pid: number, name: string, value: string) => boolean | undefined
}

export const make = (platform: NodeJS.Platform): ProcessTable => (platform === "linux" ? linux : bsd)

/** How many processes are looked at before others may run: one takes some ten microseconds. */
const batch = 200

const linux: ProcessTable = {
  membersOf: Effect.fnUntraced(function* (leader: number) {
    const pids = attempt(() => FileSystem.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) ?? []
    const members: Array<Entry> = []
    for (let from = 0; from < pids.length; from += batch) {
      if (from > 0) yield* Effect.yieldNow()
      for (const pid of pids.slice(from, from + batch)) {
        const entry = linuxEntry(pid)
        if (entry?.session === leader) members.push(entry)
      }
    }
    return members
  }),
  hasVariable: (pid, name, value) =>
    attempt(() => FileSystem.readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`${name}=${value}`))
}

/** `undefined` for one that has ended meanwhile, too. */
const linuxEntry = (pid: string): Entry | undefined =>
  attempt(() => {
    const status = FileSystem.readFileSync(`/proc/${pid}/stat`, "utf8")
    // The second field is the name, in parentheses, and may hold anything.
    const fields = status.slice(status.lastIndexOf(")") + 2).split(" ", 4)
    return {
      pid: Number(pid),
      group: Number(fields[2]),
      session: Number(fields[3]),
      isZombie: fields[0] === "Z" || fields[0] === "X"
    }
  })

const bsd: ProcessTable = {
  membersOf: (leader) => Effect.map(listing, (text) => (text === undefined ? unlisted(leader) : listed(text, leader))),
  hasVariable: () => undefined
}

const listed = (text: string, leader: number): ReadonlyArray<Entry> =>
  text
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, group]) => Number(group) === leader)
    .map(([pid, group, state]) => ({
      pid: Number(pid),
      group: Number(group),
      session: undefined,
      isZombie: (state ?? "").startsWith("Z")
    }))

/** When no list can be had, a group that can be signalled has at least one member. */
const unlisted = (leader: number): ReadonlyArray<Entry> =>
  attempt(() => process.kill(-leader, 0)) === undefined
    ? []
    : [{ pid: leader, group: leader, session: undefined, isZombie: false }]

const listing = Effect.async<string | undefined>((resume) => {
  const options = { timeout: 2000, maxBuffer: 16 * 1024 * 1024, env: { PATH: "/bin:/usr/bin", LC_ALL: "C" } }
  ChildProcess.execFile("ps", ["-axo", "pid=,pgid=,stat="], options, (error, text) =>
    resume(Effect.succeed(error === null ? text : undefined))
  )
})

const attempt = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}
