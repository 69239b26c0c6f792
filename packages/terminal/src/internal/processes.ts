import * as ChildProcess from "node:child_process"
import * as FileSystem from "node:fs"
import * as Effect from "effect/Effect"

/**
 * A process as the operating system lists it. `session` is absent where it shows none, `foreground` is the group in front of its
 * terminal.
 */
export interface Entry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number | undefined
  readonly foreground: number
  readonly isZombie: boolean
  readonly name: string
  /** In the system's own terms; absent where it is not shown. */
  readonly startedAt: string | undefined
}

/**
 * Which processes belong to a terminal: the leader's number, and the mark that is in the environment of what it started.
 */
export interface Family {
  readonly leader: number
  readonly mark: string
  /** Whether the leader lives, so that its number is its own. */
  readonly isLed: () => boolean
  /** Who was seen to belong to it, and when each started: one that is ending shows no environment any more. */
  readonly known: Map<number, string>
}

/** The variable that the processes of a terminal carry the mark in. */
export const markVariable = "AFTERTURN_TERMINAL_MARK"

/**
 * What can be seen of other processes. An answer is as old as the moment it was asked for.
 */
export interface Processes {
  readonly entry: (pid: number) => Entry | undefined
  /** Who belongs to a terminal and has not ended. */
  readonly membersOf: (family: Family) => Effect.Effect<ReadonlyArray<Entry>>
  /** Who is in a group that is in front of a terminal. */
  readonly groupOf: (family: Family, group: number) => ReadonlyArray<Entry>
}

export const make = (platform: NodeJS.Platform): Processes => (platform === "linux" ? linux : bsd)

/** How many processes are looked at before others may run: one takes some twenty microseconds. */
const batch = 100

const linux: Processes = {
  entry: (pid) => linuxEntry(pid),
  membersOf: Effect.fnUntraced(function* (family: Family) {
    const pids = attempt(() => FileSystem.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) ?? []
    const all: Array<Entry> = []
    const marked = new Set<number>()
    for (let from = 0; from < pids.length; from += batch) {
      if (from > 0) yield* Effect.yieldNow()
      for (const pid of pids.slice(from, from + batch).map(Number)) {
        const found = linuxEntry(pid)
        if (found === undefined || found.isZombie) continue
        all.push(found)
        if (hasMark(pid, family.mark)) marked.add(pid)
      }
    }
    const members = related(all, marked, family)
    family.known.clear()
    for (const { pid, startedAt } of members) if (startedAt !== undefined) family.known.set(pid, startedAt)
    return members
  }),
  groupOf: (family, group) => {
    const found: Array<Entry> = []
    const pending = [family.leader]
    for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
      const entry = linuxEntry(pid)
      if (entry?.group === group) found.push(entry)
      pending.push(...childrenOf(pid))
    }
    return found
  }
}

/**
 * In the leader's session, by descent, or by the mark. A session without its leader may be another one that got the number, unless one
 * of its processes carries the mark.
 */
const related = (
  all: ReadonlyArray<Entry>,
  marked: ReadonlySet<number>,
  { isLed, known, leader }: Family
): ReadonlyArray<Entry> => {
  const seen = all.filter(({ pid, startedAt }) => startedAt !== undefined && known.get(pid) === startedAt)
  const proven = new Set([...marked, ...seen.map(({ pid }) => pid)])
  const inSession = all.filter(({ session }) => session === leader)
  const isOwn = isLed() || inSession.some(({ pid }) => proven.has(pid))
  const members = new Set([...proven, ...(isOwn ? inSession.map(({ pid }) => pid) : [])])
  for (let size = -1; size !== members.size; ) {
    size = members.size
    for (const { parent, pid } of all) if (members.has(parent)) members.add(pid)
  }
  return all.filter(({ pid }) => members.has(pid))
}

/** `undefined` for one that has ended meanwhile, too. */
const linuxEntry = (pid: number): Entry | undefined =>
  attempt(() => {
    const status = FileSystem.readFileSync(`/proc/${pid}/stat`, "utf8")
    // The second field is the name, in parentheses, and may hold anything.
    const end = status.lastIndexOf(")")
    const fields = status.slice(end + 2).split(" ", 20)
    const [state, parent, group, session, , foreground] = fields
    return {
      pid,
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      foreground: Number(foreground),
      isZombie: state === "Z" || state === "X",
      name: status.slice(status.indexOf("(") + 1, end),
      startedAt: fields[19]
    }
  })

const hasMark = (pid: number, mark: string): boolean =>
  attempt(() => FileSystem.readFileSync(`/proc/${pid}/environ`, "latin1").includes(`${markVariable}=${mark}`)) ?? false

const childrenOf = (pid: number): ReadonlyArray<number> =>
  attempt(() =>
    FileSystem.readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number)
  ) ?? []

/** Of another system only what `ps` lists is known: descent, and no session, environment or state of a system call. */
const bsd: Processes = {
  entry: () => undefined,
  membersOf: (family) => Effect.map(listing, (text) => related(listed(text), new Set(), family)),
  groupOf: () => []
}

const listed = (text: string): ReadonlyArray<Entry> =>
  text
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 6 && !fields[4]?.startsWith("Z"))
    .map(([pid, parent, group, foreground, , ...name]) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      // Where sessions are not shown, the group that the leader leads has to do; descent finds the groups of job control.
      session: Number(group),
      foreground: Number(foreground),
      isZombie: false,
      name: name.join(" "),
      startedAt: undefined
    }))

const listing = Effect.async<string>((resume) => {
  const options = { timeout: 2000, maxBuffer: 16 * 1024 * 1024, env: { PATH: "/bin:/usr/bin", LC_ALL: "C" } }
  ChildProcess.execFile("ps", ["-axo", "pid=,ppid=,pgid=,tpgid=,stat=,ucomm="], options, (_error, text) =>
    resume(Effect.succeed(text))
  )
})

/** A process that ends while it is looked at is not there. */
export const attempt = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}
