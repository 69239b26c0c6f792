/** The packages of a comparable system, measured in a process of their own where they are installed (`bench/peers`). */
import type { ChildProcess } from "node:child_process"
import { fork } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Measured } from "./measure.js"
import type { Report } from "./report.js"

/** The same from `support/` and from the bundle in `dist/`. */
const peersSource = fileURLToPath(new URL("../peers/", import.meta.url))

/** Where they are installed, and the libraries that are measured beside this project. */
export const peersPath = process.env.AFTERTURN_BENCH_PEERS ?? fileURLToPath(new URL("../dist/peers", import.meta.url))

export type PeerOptions = Readonly<Record<string, string | number | boolean>>

export class Peers {
  private readonly child: ChildProcess

  private constructor(child: ChildProcess) {
    this.child = child
  }

  /** `undefined` when they are not installed, which the report then says. */
  static async start(report: Report): Promise<Peers | undefined> {
    if (!existsSync(join(peersPath, "node_modules/@deepseek-ai"))) {
      report.note(`The peers are not installed and were left out: node bench/peers/install.mjs`)
      return undefined
    }
    const peers = new Peers(
      fork(join(peersSource, "worker.mjs"), {
        stdio: ["ignore", "ignore", "inherit", "ipc"],
        execArgv: ["--expose-gc"]
      })
    )
    await peers.answer()
    return peers
  }

  /** One round. */
  measure(task: string, options: PeerOptions): Promise<Measured> {
    return this.ask(task, options) as Promise<Measured>
  }

  async ask(task: string, options: PeerOptions): Promise<unknown> {
    const answer = this.answer()
    this.child.send({ task, options })
    return answer
  }

  stop(): void {
    this.child.disconnect()
  }

  private answer(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const end = (code: number | null) => reject(new Error(`the peers ended with ${code}`))
      this.child.once("exit", end)
      this.child.once("message", (message: { readonly answer?: unknown; readonly error?: string }) => {
        this.child.off("exit", end)
        if (message.error === undefined) resolve(message.answer)
        else reject(new Error(message.error))
      })
    })
  }
}
