/**
 * This process under Node, as a holder of leases.
 *
 * Linux and macOS tell a process from a later one of the same pid, and a boot from the one before. Elsewhere nobody is
 * provably dead, and leases of the dead have to expire.
 *
 * @since 0.1.0
 */

import * as ChildProcess from "node:child_process"
import * as FileSystem from "node:fs"
import * as OperatingSystem from "node:os"
import * as Layer from "effect/Layer"
import type { Machine } from "../Host.js"
import { fromMachine, Host } from "../Host.js"

/**
 * This process on this machine.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Host> = Layer.sync(Host, () => fromMachine(machine(process.platform), process.pid))

/**
 * The machine that this process runs on, as its platform shows it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const machine = (platform: NodeJS.Platform): Machine => {
  const host = OperatingSystem.hostname()
  switch (platform) {
    case "linux":
      return {
        host,
        bootId: attempt(() => FileSystem.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
        pidSpace: attempt(() => FileSystem.readlinkSync("/proc/self/ns/pid")) ?? "",
        startedAt: (pid) => (exists(pid) === false ? "gone" : attempt(() => linuxStart(pid)))
      }
    case "darwin":
      return {
        host,
        // Not `kern.boottime`: that moves whenever the clock is set.
        bootId: attempt(() => run("sysctl", ["-n", "kern.bootsessionuuid"])),
        pidSpace: "",
        startedAt: (pid) =>
          exists(pid) === false ? "gone" : attempt(() => run("ps", ["-o", "lstart=", "-p", String(pid)]))
      }
    default:
      return { host, bootId: undefined, pidSpace: "", startedAt: () => undefined }
  }
}

/** `undefined` for an empty answer as well. */
const attempt = (read: () => string): string | undefined => {
  try {
    return read() || undefined
  } catch {
    return undefined
  }
}

/** A signal 0 finds processes of other users too, which `/proc` may hide. */
const exists = (pid: number): boolean | undefined => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return code === "ESRCH" ? false : code === "EPERM" ? true : undefined
  }
}

/** Field 22 of the process's status: ticks from boot to its start. What ended and is not yet reaped counts as gone. */
const linuxStart = (pid: number): string => {
  const status = FileSystem.readFileSync(`/proc/${pid}/stat`, "utf8")
  // The second field is the name, in parentheses, and may hold anything.
  const fields = status.slice(status.lastIndexOf(")") + 2).split(" ")
  return fields[0] === "Z" || fields[0] === "X" ? "gone" : (fields[19] ?? "")
}

/** A start time is compared as text: always the same zone and language. */
const run = (command: string, args: ReadonlyArray<string>): string =>
  ChildProcess.execFileSync(command, args, {
    encoding: "utf8",
    timeout: 2000,
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" }
  }).trim()
