/**
 * Pseudo terminals of this machine, on Linux and macOS.
 *
 * @since 0.1.0
 */
import * as FileSystem from "node:fs/promises"
import * as Path from "node:path"
import { machine as machineOf } from "@afterturn/session-log/Host/Node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { endFamily } from "../internal/endFamily.js"
import { waitsForInput } from "../internal/inputWait.js"
import * as NodePty from "../internal/nodePty.js"
import * as Processes from "../internal/processes.js"
import type { Foreground, TerminalProcess, TerminalRequest, TerminalSignal } from "../TerminalBackend.js"
import { TerminalBackend } from "../TerminalBackend.js"
import type { TerminalOpenFailed } from "../TerminalError.js"
import { TerminalFolderNotFound } from "../TerminalError.js"

/**
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<TerminalBackend> = Layer.sync(TerminalBackend, () => make(process.platform))

/**
 * The backend for a platform; each terminal is refused where that is neither Linux nor macOS.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (platform: NodeJS.Platform): (typeof TerminalBackend)["Service"] => {
  const processes = Processes.make(platform)
  return platform === "linux" || platform === "darwin"
    ? {
        open: (request) => open(processes, platform, request),
        reap: ({ pid, startedAt }) =>
          reap(processes, { leader: pid, mark: startedAt, isLed: () => false, known: new Map() })
      }
    : {
        open: () => NodePty.openFailed(`terminals are not supported on ${platform}, only on Linux and macOS`),
        reap: () => Effect.succeed("could not tell whether something of it is still running")
      }
}

const open = Effect.fnUntraced(function* (
  processes: Processes.Processes,
  platform: NodeJS.Platform,
  request: TerminalRequest
): Effect.fn.Return<TerminalProcess, TerminalFolderNotFound | TerminalOpenFailed, Scope.Scope> {
  yield* checkFolder(request.cwd)
  const file = yield* resolveCommand(request.command, request.environment.PATH ?? "")
  const nodePty = yield* NodePty.load
  const mark = yield* newMark
  const environment = { ...request.environment, [Processes.markVariable]: mark }
  const started = yield* withoutForeignFiles(file, { ...request, environment })
  const pty = yield* Effect.acquireRelease(NodePty.open(nodePty, started.command, started), ({ close }) =>
    Effect.sync(close)
  )
  const family: Processes.Family = { leader: pty.pid, mark, isLed: () => pty.exit() === undefined, known: new Map() }
  return {
    // The mark alone tells a later host what is left of it, whatever number it has by then.
    process: { pid: pty.pid, group: pty.pid, startedAt: mark, bootId: machineOf(platform).bootId ?? "" },
    read: pty.read,
    write: pty.write,
    resize: (size) => Effect.sync(() => pty.resize(size)),
    exit: Effect.suspend(() => Effect.succeed(pty.exit() ?? { _tag: "Signaled", signal: "SIGHUP" })),
    foreground: Effect.sync(() => foregroundOf(processes, family, pty.name)),
    signal: (signal) => Effect.sync(() => signalFront(processes, family, signal)),
    alive: Effect.map(processes.membersOf(family), (members) => members.length),
    signalAll: (signal) => Effect.map(processes.membersOf(family), (members) => sendAll(members, signal))
  }
})

/**
 * The library lets what it starts inherit the host's side of every terminal that is open: a bash closes all that is not the program's
 * own, then becomes it. Where there is no bash, the program starts as it is.
 */
const withoutForeignFiles = (file: string, request: TerminalRequest): Effect.Effect<TerminalRequest> =>
  Effect.match(resolveCommand("bash", request.environment.PATH ?? ""), {
    onFailure: () => ({ ...request, command: file }),
    onSuccess: (bash) => ({
      ...request,
      command: bash,
      args: ["-c", closing, "bash", ...prompts(request), file, ...request.args]
    })
  })

const closing = `for f in /dev/fd/*; do f=\${f##*/}; ((f > 2)) && exec {f}>&-; done; exec env "$@"`

/** A bash that runs a command forgets the prompts that it is given. */
const prompts = ({ environment }: TerminalRequest): ReadonlyArray<string> =>
  ["PS1", "PS2"].flatMap((name) => (environment[name] === undefined ? [] : [`${name}=${environment[name]}`]))

/** Tells the processes of this terminal from all others. */
const newMark = Effect.map(Effect.replicateEffect(Random.nextIntBetween(0, 0x1_0000_0000), 3), (words) =>
  words.map((word) => word.toString(36)).join("")
)

const foregroundOf = (processes: Processes.Processes, family: Processes.Family, terminal: string): Foreground => {
  const group = family.isLed() ? processes.entry(family.leader)?.foreground : undefined
  if (group === undefined || group <= 0) return { program: undefined, isLeader: undefined, waits: undefined }
  const members = processes.groupOf(family, group)
  const waits = members.map(({ pid }) => waitsForInput(pid, terminal))
  return {
    program: (members.find(({ pid }) => pid === group) ?? members[0])?.name,
    isLeader: group === family.leader,
    waits: waits.includes(true) ? true : waits.every((one) => one === undefined) ? undefined : false
  }
}

const signalFront = (processes: Processes.Processes, family: Processes.Family, signal: TerminalSignal) => {
  // Where no group in front is shown, the terminal's own is the one that is known.
  const group = family.isLed() ? (processes.entry(family.leader)?.foreground ?? family.leader) : 0
  if (group <= 0) return "nothing"
  if (group === family.leader && signal === "SIGKILL") return "leader"
  return send(-group, signal) ? "sent" : "nothing"
}

const sendAll = (members: ReadonlyArray<Processes.Entry>, signal: "SIGHUP" | "SIGKILL"): void => {
  for (const { pid } of members) {
    send(pid, signal)
    // A stopped process takes no other signal before it goes on.
    if (signal === "SIGHUP") send(pid, "SIGCONT")
  }
}

/** Who is gone shows in the next look. */
const send = (target: number, signal: NodeJS.Signals): boolean =>
  Processes.attempt(() => process.kill(target, signal)) ?? false

const reap = Effect.fnUntraced(function* (processes: Processes.Processes, family: Processes.Family) {
  const alive = Effect.map(processes.membersOf(family), (members) => members.length)
  const found = yield* alive
  if (found === 0) return "nothing of it was running"
  const left = yield* endFamily(
    {
      alive,
      signalAll: (signal) => Effect.map(processes.membersOf(family), (members) => sendAll(members, signal))
    },
    "1 second"
  )
  const words = found === 1 ? "its process" : `its ${found} processes`
  return left === 0 ? `${words} ${found === 1 ? "was" : "were"} ended` : `${words} could not be ended`
})

const checkFolder = (cwd: string): Effect.Effect<void, TerminalFolderNotFound> =>
  Effect.tryPromise({
    try: async () => {
      const found = await FileSystem.stat(cwd)
      if (found.isDirectory()) await FileSystem.access(cwd, FileSystem.constants.X_OK)
      return found.isDirectory()
    },
    catch: (error) => folderNotFound(cwd, (error as NodeJS.ErrnoException).code)
  }).pipe(Effect.flatMap((isFolder) => (isFolder ? Effect.void : folderNotFound(cwd, "ENOTDIR"))))

const reasons: { readonly [code: string]: string } = {
  ENOENT: "does not exist",
  EACCES: "may not be entered",
  ENOTDIR: "is not a folder"
}

const folderNotFound = (cwd: string, code: string | undefined) =>
  new TerminalFolderNotFound({
    code: "cwd_not_found",
    cwd,
    reason: reasons[code ?? ""] ?? `cannot be used (${code ?? "unknown reason"})`
  })

/** The executable that a name stands for in a search path; a path stands for itself. */
const resolveCommand = (command: string, searchPath: string): Effect.Effect<string, TerminalOpenFailed> => {
  const candidates = command.includes("/")
    ? [command]
    : searchPath.split(":").map((folder) => Path.join(folder, command))
  const missing = NodePty.openFailed(`there is no executable ${JSON.stringify(command)} on this host`)
  return candidates
    .filter((path) => Path.isAbsolute(path))
    .reduce<Effect.Effect<string, TerminalOpenFailed>>(
      (found, path) => Effect.orElse(found, () => Effect.mapError(executable(path), () => missing)),
      missing
    )
}

const executable = (path: string): Effect.Effect<string, unknown> =>
  Effect.tryPromise(async () => {
    await FileSystem.access(path, FileSystem.constants.X_OK)
    if (!(await FileSystem.stat(path)).isFile()) throw new Error("not a file")
    return path
  })
