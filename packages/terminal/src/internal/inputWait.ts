import * as FileSystem from "node:fs"
import { attempt } from "./processes.js"

/**
 * Whether a process sleeps in a system call that ends when something is typed at the terminal. `undefined`: the system does not show
 * what it is at (only Linux does, and not of processes that may not be traced).
 */
export const waitsForInput = (pid: number, terminal: string): boolean | undefined => {
  const calls = systemCalls[process.arch as keyof typeof systemCalls]
  if (calls === undefined) return undefined
  const text = attempt(() => FileSystem.readFileSync(`/proc/${pid}/syscall`, "latin1"))
  if (text === undefined) return undefined
  const [number, ...rest] = text.trim().split(" ")
  const kind = calls[Number(number)]
  // "running", or asleep outside a system call (-1).
  if (kind === undefined) return false
  const args = rest.map(Number)
  const isInput = (descriptor: number) => isTerminal(pid, descriptor, terminal)
  return attempt(() => inputOf[kind](pid, args).some(isInput)) ?? false
}

type Kind = "read" | "poll" | "select" | "epoll"

/** The numbers of the calls that wait for descriptors. */
const systemCalls: { readonly [arch in "x64" | "arm64"]: { readonly [number: number]: Kind } } = {
  x64: {
    0: "read",
    19: "read",
    7: "poll",
    271: "poll",
    23: "select",
    270: "select",
    232: "epoll",
    281: "epoll",
    441: "epoll"
  },
  arm64: { 63: "read", 65: "read", 73: "poll", 72: "select", 22: "epoll", 441: "epoll" }
}

/** The descriptors that a call waits to read from. */
const inputOf: { readonly [kind in Kind]: (pid: number, args: ReadonlyArray<number>) => ReadonlyArray<number> } = {
  read: (_pid, [descriptor = -1]) => [descriptor],
  poll: (pid, [address = 0, count = 0]) => {
    const entries = memoryOf(pid, address, Math.min(count, 256) * 8)
    return Array.from({ length: entries.length / 8 }, (_, index) => index * 8)
      .filter((at) => (entries.readInt16LE(at + 4) & pollIn) !== 0)
      .map((at) => entries.readInt32LE(at))
  },
  select: (pid, [count = 0, address = 0]) => {
    if (address === 0) return []
    const bits = memoryOf(pid, address, Math.ceil(Math.min(count, 1024) / 8))
    return Array.from({ length: count }, (_, descriptor) => descriptor).filter(
      (descriptor) => ((bits[descriptor >> 3] ?? 0) & (1 << (descriptor & 7))) !== 0
    )
  },
  epoll: (pid, [descriptor]) =>
    FileSystem.readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, "latin1")
      .split("\n")
      .flatMap((line) => {
        const [, watched, events] = /^tfd:\s*(\d+) events:\s*([0-9a-f]+)/.exec(line) ?? []
        return watched !== undefined && (Number.parseInt(events ?? "0", 16) & pollIn) !== 0 ? [Number(watched)] : []
      })
}

const pollIn = 1

const memoryOf = (pid: number, address: number, length: number): Buffer => {
  const file = FileSystem.openSync(`/proc/${pid}/mem`, "r")
  try {
    const bytes = Buffer.alloc(length)
    return bytes.subarray(0, FileSystem.readSync(file, bytes, 0, length, address))
  } finally {
    FileSystem.closeSync(file)
  }
}

const isTerminal = (pid: number, descriptor: number, terminal: string): boolean => {
  const target = attempt(() => FileSystem.readlinkSync(`/proc/${pid}/fd/${descriptor}`))
  return target === terminal || target === "/dev/tty"
}
