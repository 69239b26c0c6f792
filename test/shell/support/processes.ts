/** Shells of the operating system, for tests. */
import * as fs from "node:fs"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Shell from "@afterturn/shell/Shell"
import type { ProcessGroup, ShellProcess, SpawnRequest } from "@afterturn/shell/ShellBackend"
import { ShellBackend } from "@afterturn/shell/ShellBackend"
import * as Node from "@afterturn/shell/ShellBackend/Node"
import type { ShellOptions } from "@afterturn/shell/ShellConfig"
import * as ShellConfig from "@afterturn/shell/ShellConfig"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** `PATH` as the test has it: commands of the system, and Node. */
export const path = process.env.PATH ?? ""

export const request = (more?: Partial<SpawnRequest>): SpawnRequest => ({
  shell: "bash",
  workdir: "/tmp",
  environment: { PATH: path },
  ...more
})

export const shell = (options?: Partial<ShellOptions>) =>
  Shell.layer.pipe(
    Layer.provideMerge(Node.layer),
    Layer.provideMerge(Layer.orDie(ShellConfig.layer({ ...options, setEnvironment: { PATH: path } })))
  )

/** A shell, up and without a command, for as long as the test's scope. */
export const spawn = (more?: Partial<SpawnRequest>) =>
  Effect.flatMap(ShellBackend, (backend) => backend.spawn(request(more)))

/** All that is written until every writer is gone. */
export const readAll = (process: ShellProcess): Effect.Effect<string> =>
  Effect.gen(function* () {
    const chunks: Array<Uint8Array> = []
    while (true) {
      const chunk = yield* process.read
      if (chunk === undefined) return Buffer.concat(chunks).toString("utf8")
      chunks.push(chunk)
    }
  })

/** Reads until a text has come. */
export const readUntil = (process: ShellProcess, text: string): Effect.Effect<string> =>
  Effect.gen(function* () {
    let all = ""
    while (!all.includes(text)) all += Buffer.from((yield* process.read) ?? `${text} did not come`).toString("utf8")
    return all
  })

/** Runs a command to the end of its shell and of all writers. */
export const complete = (command: string, more?: Partial<SpawnRequest>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const process = yield* spawn(more)
      yield* process.start(command)
      const output = yield* readAll(process)
      return { output, exit: yield* process.exit, pid: process.process.pid }
    })
  )

/** Whether any process goes by the number of a group. */
export const groupExists = (group: number): boolean => signals(-group)

export const processExists = (pid: number): boolean => signals(pid)

const signals = (target: number): boolean => {
  try {
    return process.kill(target, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH"
  }
}

/** Waits until it holds, and fails the test when it does not within ten seconds. */
export const eventually = <R = never>(
  what: string,
  holds: Effect.Effect<boolean, never, R> | (() => boolean)
): Effect.Effect<void, never, R> =>
  Effect.gen(function* () {
    for (let attempt = 0; attempt < 1000; attempt++) {
      if (yield* typeof holds === "function" ? Effect.sync(holds) : holds) return
      yield* Effect.sleep("10 millis")
    }
    return yield* Effect.dieMessage(`not within ten seconds: ${what}`)
  })

export const membersAre = (group: ProcessGroup, alive: number) =>
  eventually(
    `${alive} members`,
    Effect.map(group.members, (members) => members.alive === alive)
  )

/** The arguments of the processes of a session of the operating system, without those that have ended and were not collected. */
export const argumentsOf = (session: number): ReadonlyArray<string> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
        const fields = status.slice(status.lastIndexOf(")") + 2).split(" ")
        return Number(fields[3]) === session && fields[0] !== "Z"
          ? [fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")]
          : []
      } catch {
        return []
      }
    })

export const owner = SessionId.make("s1")
