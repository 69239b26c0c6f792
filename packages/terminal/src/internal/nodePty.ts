import * as FileSystem from "node:fs"
import type * as Tty from "node:tty"
import * as Effect from "effect/Effect"
import type { TerminalExit, TerminalRequest, TerminalSize } from "../TerminalBackend.js"
import { TerminalOpenFailed } from "../TerminalError.js"

/**
 * A pseudo terminal with a program in it.
 *
 * The library tells of an exit before the last output: on Linux a terminal that nobody has open any more is at its end for the event
 * loop, whatever it still holds, and 200 milliseconds later the library closes it. So the other side is held open here until all of it
 * was read, and the library is kept from closing anything.
 */
export interface Pty {
  readonly pid: number
  /** Its name, such as `/dev/pts/1`. */
  readonly name: string
  readonly read: Effect.Effect<Uint8Array | undefined>
  readonly write: (bytes: Uint8Array) => Effect.Effect<void>
  readonly resize: (size: TerminalSize) => void
  /** Absent while the program runs. */
  readonly exit: () => TerminalExit | undefined
  readonly close: () => void
}

/** What is used of the library beyond what it declares; the version is pinned, and a test of lost output would tell. */
interface Inside {
  readonly pid: number
  readonly fd: number
  readonly ptsName: string
  readonly _socket: Tty.ReadStream
  /** Taken for true, an exit is told at once and nothing is closed. */
  _emittedClose: boolean
  readonly resize: (columns: number, rows: number) => void
  readonly onExit: (listener: (event: { readonly exitCode: number; readonly signal?: number }) => void) => unknown
}

/** Loaded with the first terminal: it is a native module. */
export const load = Effect.tryPromise({
  try: () => import("@lydell/node-pty"),
  catch: (cause) => openFailed("the terminals of this system cannot be loaded", cause)
})

export type NodePty = Effect.Effect.Success<typeof load>

export const openFailed = (reason: string, cause?: unknown) =>
  new TerminalOpenFailed({ code: "open_failed", reason, ...(cause === undefined ? {} : { cause }) })

export const open = (
  nodePty: NodePty,
  file: string,
  { args, cwd, environment, size }: TerminalRequest
): Effect.Effect<Pty, TerminalOpenFailed> =>
  Effect.try({
    try: () => {
      const options = { encoding: null, cwd, env: environment, cols: size.columns, rows: size.rows }
      // The declared type has no more than most users need.
      const inside = nodePty.spawn(file, [...args], options) as unknown as Inside
      return hold(inside)
    },
    catch: (cause) => openFailed(cause instanceof Error ? cause.message : "the system refused a terminal", cause)
  })

const hold = (inside: Inside): Pty => {
  const { O_NOCTTY, O_RDWR } = FileSystem.constants
  const held = FileSystem.openSync(inside.ptsName, O_RDWR | O_NOCTTY)
  const stream = inside._socket
  inside._emittedClose = true
  const state: State = { stream, held, exit: undefined, rest: [], waiting: new Set() }
  // The library takes whatever comes; here it stays until somebody reads it. A listener that comes and goes would let it flow again.
  stream.removeAllListeners("data")
  stream.on("readable", () => ring(state))
  inside.onExit(({ exitCode, signal }) => {
    state.rest.push(...unread(stream, inside.fd))
    state.exit =
      signal === undefined || signal === 0
        ? { _tag: "Exited", code: exitCode }
        : { _tag: "Signaled", signal: nameOf(signal) }
    close(state)
  })
  return {
    pid: inside.pid,
    name: inside.ptsName,
    read: next(state),
    write: (bytes) => write(state, bytes),
    resize: ({ columns, rows }) => {
      if (state.held !== undefined) inside.resize(columns, rows)
    },
    exit: () => state.exit,
    close: () => close(state)
  }
}

interface State {
  readonly stream: Tty.ReadStream
  exit: TerminalExit | undefined
  /** The other side of the terminal, while it is open. */
  held: number | undefined
  /** What was read when the program ended. */
  readonly rest: Array<Uint8Array>
  /** Who waits for something to read, or for the end. */
  readonly waiting: Set<() => void>
}

const ring = ({ waiting }: State): void => {
  for (const wake of [...waiting]) wake()
}

const close = (state: State): void => {
  if (state.held === undefined) return
  FileSystem.closeSync(state.held)
  state.held = undefined
  state.stream.destroy()
  ring(state)
}

const next = (state: State): Effect.Effect<Uint8Array | undefined> =>
  Effect.suspend(() => {
    const chunk = state.held === undefined ? state.rest.shift() : (state.stream.read() as Buffer | null)
    if (chunk !== null && chunk !== undefined) return Effect.succeed(chunk)
    return state.held === undefined
      ? Effect.succeed(undefined)
      : Effect.zipRight(Effect.interruptible(change(state)), next(state))
  })

const change = (state: State): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const wake = () => {
      state.waiting.delete(wake)
      resume(Effect.void)
    }
    state.waiting.add(wake)
    // It may have come while this fiber had not its turn.
    if (state.held === undefined || state.stream.readableLength > 0) wake()
    return Effect.sync(() => state.waiting.delete(wake))
  })

/** The most that is taken of what others go on writing after the program's end. */
const restCapacity = 1024 * 1024

/** What the stream and the kernel still hold. The descriptor does not block. */
const unread = (stream: Tty.ReadStream, descriptor: number): ReadonlyArray<Uint8Array> => {
  const buffered = stream.read() as Buffer | null
  const chunks: Array<Uint8Array> = buffered === null ? [] : [buffered]
  for (let size = 0; size < restCapacity; size += chunks.at(-1)!.length) {
    const chunk = readNow(descriptor)
    if (chunk.length === 0) break
    chunks.push(chunk)
  }
  return chunks
}

const readNow = (descriptor: number): Buffer => {
  const buffer = Buffer.allocUnsafe(64 * 1024)
  try {
    return buffer.subarray(0, FileSystem.readSync(descriptor, buffer))
  } catch {
    // Nothing there: EAGAIN.
    return buffer.subarray(0, 0)
  }
}

const write = ({ held, stream }: State, bytes: Uint8Array): Effect.Effect<void> =>
  held === undefined
    ? Effect.void
    : Effect.async<void>((resume) => {
        // What the program does not take before its end is lost with it: not an error.
        stream.write(bytes, () => resume(Effect.void))
      })

const names: { readonly [number: number]: string } = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM"
}

const nameOf = (number: number): string => names[number] ?? `signal ${number}`
