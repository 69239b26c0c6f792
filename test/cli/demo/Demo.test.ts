import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, start } from "../../support/afterturn.js"
import * as Temporary from "../../support/temporary.js"

const play = (db: string, env?: Readonly<Record<string, string>>) =>
  Effect.provide(inProcess(["demo", "--db", db], env === undefined ? {} : { env }), NodeContext.layer)

/** The commands that it ends with, as words. */
const commands = (stdout: string): ReadonlyArray<ReadonlyArray<string>> =>
  stdout
    .split("\n")
    .filter((line) => /^ {2}afterturn /.test(line))
    .map((line) => (line.match(/'[^']*'|\S+/g) ?? []).slice(1).map((word) => word.replaceAll("'", "")))

const cli = (args: ReadonlyArray<string>) => Effect.provide(inProcess(args), NodeContext.layer)

describe("demo", () => {
  it.live(
    "plans, works, forgets, resumes and forks, and every command that it ends with works",
    () =>
      Effect.gen(function* () {
        const folder = yield* Temporary.folder
        const db = path.join(folder, "not there yet", "demo.db")
        const { code, stderr, stdout } = yield* play(db)
        assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
        const [show, todo, exported, forks, goal, wakes, history, , chat] = commands(stdout)
        const shown = JSON.parse((yield* cli([...show!, "--json"])).stdout)
        const ends = shown.events.filter(({ type }: { type: string }) => type === "turn/end")
        assert.deepStrictEqual(
          ends.map(({ data }: { data: { reason: { kind: string } } }) => data.reason.kind),
          Array.from({ length: 7 }, () => "completed")
        )
        // The second message came while the first turn ran, or before: it opened a turn of its own either way.
        const starts = shown.events.filter(({ type }: { type: string }) => type === "turn/start")
        assert.strictEqual(starts.length, 7)
        assert.include((yield* cli(todo!)).stdout, "[~] Send the newsletter")
        assert.strictEqual((yield* cli(exported!)).stdout.split("\n").length, shown.events.length + 2)
        assert.include((yield* cli(goal!)).stdout, "goal-1 at revision 2: complete, 2 of 5 rounds started")
        assert.include((yield* cli(wakes!)).stdout, "wake-budget")
        assert.match((yield* cli(history!)).stdout, /delivered/)
        const [fork] = JSON.parse((yield* cli([...forks!, "--json"])).stdout)
        assert.strictEqual(fork.parent, shown.header.id)
        assert.strictEqual(fork.seedLength, ends[0].seq + 1)
        const talked = yield* Effect.scoped(
          Effect.flatMap(start(chat!, { stdin: "what is left?\n" }), ({ finished }) => finished)
        )
        assert.strictEqual(talked.code, 0)
        assert.match(talked.stdout, /› what is left\?\nOne thing: the newsletter\.\n/)
      }).pipe(Effect.scoped),
    // Every command is a start of its own.
    60_000
  )

  it.live("goes from round to round: a real command, whose end opens a turn, and then its goal is reached", () =>
    Effect.gen(function* () {
      const folder = yield* Temporary.folder
      const { stdout } = yield* play(path.join(folder, "demo.db"))
      const [show, , , , , , , output] = commands(stdout)
      const { events } = JSON.parse((yield* cli([...show!, "--json"])).stdout)
      const sources = events.flatMap(({ data, type }: { type: string; data: { source: { kind: string } } }) =>
        type === "turn/start" ? [data.source.kind] : []
      )
      assert.deepStrictEqual(sources, ["user", "user", "goal-round", "job-notice", "goal-round", "user", "reminder"])
      const built = yield* cli(output!)
      assert.deepInclude(built, { code: 0, stdout: "compile: ok\ntest: ok\npack: ok\n" })
      assert.match(built.stderr, /^\[status: completed, exit code: 0.*\]\n$/)
      assert.include(stdout, "The package is built: compiled, tested, packed.")
      assert.include(stdout, "The newsletter is still here. May it go out?")
    }).pipe(Effect.scoped)
  )

  it.live("tells what it counted", () =>
    Effect.gen(function* () {
      const folder = yield* Temporary.folder
      const { stdout } = yield* play(path.join(folder, "demo.db"))
      const [show, , , forks] = commands(stdout)
      const { events } = JSON.parse((yield* cli([...show!, "--json"])).stdout)
      const [fork] = JSON.parse((yield* cli([...forks!, "--json"])).stdout)
      const forked = JSON.parse((yield* cli(["sessions", "show", fork.id, ...show!.slice(-2), "--json"])).stdout)
      assert.include(stdout, `The fork has ${forked.events.length} events now.`)
      assert.include(stdout, `has its ${events.length}, as before.`)
      assert.include(stdout, `it shares those ${fork.seedLength} events`)
    }).pipe(Effect.scoped)
  )

  it.live("works again on the same file, in a new session", () =>
    Effect.gen(function* () {
      const folder = yield* Temporary.folder
      const db = path.join(folder, "demo.db")
      yield* play(db)
      assert.strictEqual((yield* play(db)).code, 0)
      const sessions = JSON.parse((yield* cli(["sessions", "list", "--db", db, "--json"])).stdout)
      assert.strictEqual(sessions.length, 4)
      assert.strictEqual(new Set(sessions.map(({ id }: { id: string }) => id)).size, 4)
    }).pipe(Effect.scoped)
  )

  it.live("needs a file, and a folder that it can write to", () =>
    Effect.gen(function* () {
      const folder = yield* Temporary.folder
      const memory = yield* play(":memory:")
      assert.strictEqual(memory.code, 2)
      const file = path.join(folder, "file")
      fs.writeFileSync(file, "")
      const within = yield* play(path.join(file, "demo.db"))
      assert.strictEqual(within.code, 1)
      assert.match(within.stderr, /^afterturn: the database could not [^\n]*\n$/)
    }).pipe(Effect.scoped)
  )

  it.live(
    "names the commands as scripts of the repository where it is one itself, and the default database not at all",
    () =>
      Effect.gen(function* () {
        const folder = yield* Temporary.folder
        const env = {
          XDG_DATA_HOME: folder,
          npm_lifecycle_event: "start",
          npm_config_user_agent: "pnpm/10.0.1 npm/? node/v20"
        }
        const { stdout } = yield* Effect.provide(inProcess(["demo"], { env }), NodeContext.layer)
        assert.match(stdout, /\n {2}npx -y pnpm@10\.0\.1 -s afterturn sessions show \S+\n/)
        assert.isTrue(fs.existsSync(path.join(folder, "afterturn", "afterturn.db")))
      }).pipe(Effect.scoped)
  )
})
