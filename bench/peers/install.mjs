// Installs the packages of a comparable system, and libraries that do a part of what this project does, which the benches measure
// beside it where they are there. Nothing of this project depends on them. `node bench/peers/install.mjs`; the folder is
// bench/dist/peers (ignored by git), or what the environment's AFTERTURN_BENCH_PEERS names.
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { peersFolder } from "./folder.mjs"

const version = "0.1.0-rc.8"
const packages = ["agent-loop", "jobs-local", "session-persistence-jsonl", "tool-jobs", "tool-todo"].map(
  (name) => `@deepseek-ai/dsh-${name}@${version}`
)
const libraries = ["croner@11.0.1", "cron-parser@5.10.6"]

mkdirSync(peersFolder, { recursive: true })
writeFileSync(join(peersFolder, "package.json"), JSON.stringify({ name: "bench-peers", private: true, type: "module" }))
const { status } = spawnSync(
  "npm",
  ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages, ...libraries],
  {
    cwd: peersFolder,
    stdio: "inherit"
  }
)
process.exitCode = status ?? 1
