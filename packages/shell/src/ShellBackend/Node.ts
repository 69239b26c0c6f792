/**
 * Shells as processes of Node, on Linux and macOS.
 *
 * @since 0.1.0
 */
import * as ChildProcess from "node:child_process"
import * as FileSystem from "node:fs"
import * as Net from "node:net"
import type * as NodeStream from "node:stream"
import type { JobProcess } from "@afterturn/jobs/Job"
import type { Machine } from "@afterturn/session-log/Host"
import { machine as machineOf } from "@afterturn/session-log/Host/Node"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as NodeGroup from "../internal/nodeGroup.js"
import * as NodeOutput from "../internal/nodeOutput.js"
import { resolveShell, resolveWorkdir } from "../internal/nodePaths.js"
import * as ProcessTable from "../internal/processTable.js"
import * as Supervisor from "../internal/supervisor.js"
import type { Remains, ShellExit, ShellProcess, SpawnRequest } from "../ShellBackend.js"
import { ShellBackend } from "../ShellBackend.js"
import type { ShellError } from "../ShellError.js"
import { PlatformNotSupported, SpawnFailed } from "../ShellError.js"

/**
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ShellBackend> = Layer.sync(ShellBackend, () => make(process.platform))

/**
 * The backend for a platform; each shell is refused where that is neither Linux nor macOS.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (platform: NodeJS.Platform): (typeof ShellBackend)["Service"] => {
  const host: NodeHost = {
    machine: machineOf(platform),
    table: ProcessTable.make(platform),
    opensPipe: platform === "linux"
  }
  return platform === "linux" || platform === "darwin"
    ? { spawn: (request) => spawn(host, request), find: (recorded) => find(host, recorded) }
    : { spawn: () => new PlatformNotSupported({ code: "platform_not_supported", platform }), find: unclear }
}

interface NodeHost {
  readonly machine: Machine
  readonly table: ProcessTable.ProcessTable
  readonly opensPipe: boolean
}

const unclear = (): Effect.Effect<Remains> => Effect.succeed({ _tag: "Unclear", pids: [] })

const spawn = Effect.fnUntraced(function* (
  host: NodeHost,
  request: SpawnRequest
): Effect.fn.Return<ShellProcess, ShellError, Scope.Scope> {
  yield* resolveWorkdir(request.workdir)
  const shell = yield* resolveShell(request.shell, request.environment.PATH ?? "")
  const mark = yield* newMark
  const running = yield* Effect.acquireRelease(launch(host, shell, request, mark), letGo)
  yield* isUp(running)
  const output = yield* Effect.acquireRelease(openOutput(host, running), ({ close }) => close)
  const exit = yield* Deferred.make<ShellExit>()
  yield* Effect.forkScoped(Effect.interruptible(Deferred.complete(exit, exitOf(running))))
  return {
    process: {
      pid: running.pid,
      group: running.pid,
      startedAt: markedStart(startOf(host, running.pid), mark),
      bootId: host.machine.bootId ?? ""
    },
    ...NodeGroup.make(host.table, running.pid),
    start: (command) =>
      Effect.sync(() => {
        running.isStarted = true
        running.control.end(Supervisor.handover(command, mark))
      }),
    read: output.read,
    rest: output.rest,
    exit: Deferred.await(exit)
  }
})

/** Tells this command's processes and texts from all others. */
const newMark = Effect.map(Effect.replicateEffect(Random.nextIntBetween(0, 0x1_0000_0000), 3), (words) =>
  words.map((word) => word.toString(36)).join("")
)

/** The variable that a command's processes carry the mark in. */
const markVariable = "AFTERTURN_PROCESS_MARK"

interface Running {
  readonly pid: number
  readonly child: ChildProcess.ChildProcess
  readonly control: Net.Socket
  /** The supervisor's. */
  readonly exit: Deferred.Deferred<ShellExit>
  /** What the supervisor said on its channel, the newest part. */
  words: string
  isStarted: boolean
  isOver: boolean
}

const launch = (
  host: NodeHost,
  shell: string,
  request: SpawnRequest,
  mark: string
): Effect.Effect<Running, SpawnFailed> =>
  Effect.async((resume) => {
    const fail = (cause: unknown) => resume(spawnFailed(reasonOf(cause), cause))
    const { args, environment } = Supervisor.launch({ opensPipe: host.opensPipe, endMark: mark })
    try {
      const child = ChildProcess.spawn(shell, args, {
        cwd: request.workdir,
        env: { ...request.environment, ...environment, [markVariable]: mark },
        detached: true,
        stdio: ["ignore", host.opensPipe ? "ignore" : "pipe", "ignore", "pipe"]
      })
      child.on("error", fail)
      child.once("spawn", () => resume(Effect.sync(() => watch(child))))
    } catch (cause) {
      fail(cause)
    }
  })

const watch = (child: ChildProcess.ChildProcess): Running => {
  const running: Running = {
    pid: child.pid!,
    child,
    control: child.stdio[Supervisor.channel] as Net.Socket,
    exit: Deferred.unsafeMake<ShellExit>(FiberId.none),
    words: "",
    isStarted: false,
    isOver: false
  }
  running.control.on("data", (bytes: Buffer) => {
    running.words = (running.words + bytes.toString("latin1")).slice(-maxWords)
  })
  // A shell that does not read its command to the end tells more with its exit.
  running.control.on("error", () => undefined)
  child.once("exit", (code, signal) => {
    running.isOver = true
    const exit: ShellExit = signal === null ? { _tag: "Exited", code: code ?? 0 } : { _tag: "Signaled", signal }
    Deferred.unsafeDone(running.exit, Effect.succeed(exit))
  })
  return running
}

/** Characters of what the supervisor said that are kept; a command can write to its channel, too. */
const maxWords = 4096

/** How long the last words of a supervisor may be on their way after its end. */
const wordsLimit = "500 millis"

/** How the command's shell ended; when the supervisor itself was ended, by that signal. */
const exitOf = (running: Running): Effect.Effect<ShellExit> =>
  Effect.flatMap(Deferred.await(running.exit), (exit) => {
    if (exit._tag === "Signaled") return Effect.succeed(exit)
    const { code } = exit
    const known = Effect.suspend(() => Effect.fromNullable(Supervisor.exitOf(code, running.words)))
    return Effect.catchAll(known, () =>
      Effect.zipRight(said(running.control), known).pipe(
        Effect.eventually,
        Effect.interruptible,
        Effect.timeoutOption(wordsLimit),
        Effect.map(Option.getOrElse((): ShellExit => exit))
      )
    )
  })

const said = (control: Net.Socket): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const done = () => resume(Effect.void)
    control.once("data", done)
    return Effect.sync(() => control.off("data", done))
  })

const spawnFailed = (reason: string, cause?: unknown) =>
  new SpawnFailed({ code: "spawn_failed", reason, ...(cause === undefined ? {} : { cause }) })

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : "the process was refused")

/** The number is this shell's until its exit was taken note of. */
const letGo = (running: Running): Effect.Effect<void> =>
  Effect.sync(() => {
    running.control.destroy()
    if (!running.isStarted && !running.isOver) NodeGroup.send(running.pid, "SIGKILL")
  })

/** How long a shell may take to come up. */
const startLimit = "10 seconds"

/** Nothing is taken by then that closing the scope does not give back: the waiting may be interrupted. */
const isUp = ({ child, control, exit }: Running): Effect.Effect<void, SpawnFailed> =>
  Effect.async<void, SpawnFailed>((resume) => {
    control.once("data", () => resume(Effect.void))
    child.once("exit", () => resume(Effect.flatMap(Deferred.await(exit), endedEarly)))
  }).pipe(
    Effect.timeoutFail({
      duration: startLimit,
      onTimeout: () => spawnFailed(`the shell was not up after ${startLimit}`)
    }),
    Effect.interruptible
  )

const endedEarly = (exit: ShellExit) => spawnFailed(`the shell ended before it was up (${exitText(exit)})`)

const exitText = (exit: ShellExit): string => (exit._tag === "Exited" ? `exit code ${exit.code}` : exit.signal)

const openOutput = (host: NodeHost, { child, pid }: Running): Effect.Effect<NodeOutput.NodeOutput, SpawnFailed> =>
  host.opensPipe
    ? Effect.try({
        try: () => {
          const { O_NONBLOCK, O_RDONLY } = FileSystem.constants
          const descriptor = FileSystem.openSync(`/proc/${pid}/fd/${Supervisor.pipe}`, O_RDONLY | O_NONBLOCK)
          const stream = new Net.Socket({ fd: descriptor, readable: true, writable: false })
          return NodeOutput.make(stream, descriptor)
        },
        catch: (cause) => spawnFailed("the shell's output cannot be read through /proc", cause)
      })
    : Effect.sync(() => NodeOutput.make(child.stdout as NodeStream.Readable, undefined))

/** When a process started, in its own space of pids. */
const startOf = ({ machine }: NodeHost, pid: number): string => `${machine.startedAt(pid) ?? ""}@${machine.pidSpace}`

const markedStart = (start: string, mark: string): string => `${start}#${mark}`

/**
 * A number is given to no new process as long as a process, a group or a session goes by it. So when the leader's number has another
 * process, nothing of the former group lives; and when one member of its session is ours, all are.
 */
const find = Effect.fnUntraced(function* (host: NodeHost, { bootId, group, pid, startedAt }: JobProcess) {
  const [start = "", mark = ""] = startedAt.split("#")
  const members = (yield* host.table.membersOf(group)).filter(({ isZombie }) => !isZombie).map((member) => member.pid)
  const cannotTell: Remains = { _tag: "Unclear", pids: members }
  if (bootId === "" || host.machine.bootId === undefined || start.startsWith("@")) return cannotTell
  if (bootId !== host.machine.bootId) return gone
  if (!start.endsWith(`@${host.machine.pidSpace}`)) return cannotTell
  const present = host.machine.startedAt(pid)
  if (present === undefined) return cannotTell
  if (present !== "gone" && startOf(host, pid) !== start) return gone
  if (members.length === 0) return gone
  const isOwn = present !== "gone" || members.some((member) => host.table.hasVariable(member, markVariable, mark))
  return isOwn ? ({ _tag: "Found", group: NodeGroup.make(host.table, group) } satisfies Remains) : cannotTell
})

const gone: Remains = { _tag: "Gone" }
