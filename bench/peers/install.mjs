// Installs the packages of a comparable system, which the benches measure beside this project where they are there. Nothing of
// this project depends on them. `node bench/peers/install.mjs`; the folder is bench/dist/peers (ignored by git), or what the
// environment's AFTERTURN_BENCH_PEERS names.
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { peersFolder } from "./folder.mjs"

const version = "0.1.0-rc.8"
const packages = ["agent-loop", "jobs-local", "session-persistence-jsonl", "tool-jobs", "tool-todo"].map(
  (name) => `@deepseek-ai/dsh-${name}@${version}`
)

mkdirSync(peersFolder, { recursive: true })
writeFileSync(join(peersFolder, "package.json"), JSON.stringify({ name: "bench-peers", private: true, type: "module" }))
const { status } = spawnSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages], {
  cwd: peersFolder,
  stdio: "inherit"
})
process.exitCode = status ?? 1
