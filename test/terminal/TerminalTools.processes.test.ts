/** The tools on terminals of the system. */
import { existsSync, readFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import type { Agent } from "@afterturn/agent/Agent"
import * as Pty from "@afterturn/terminal/TerminalBackend/Pty"
import { Terminals } from "@afterturn/terminal/Terminals"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { call, layer, newAgent, openShell, owner, send, valueOf } from "./support/agents.js"

type Services = Layer.Layer.Success<ReturnType<typeof layer>>

const live = <A, E>(
  test: (agent: Agent, id: string) => Effect.Effect<A, E, Services | Scope.Scope>,
  options?: Parameters<typeof layer>[1]
) =>
  Effect.gen(function* () {
    const agent = yield* newAgent()
    return yield* test(agent, yield* openShell(agent))
  }).pipe(Effect.scoped, Effect.provide(layer(Pty.layer, options)))

const isInstalled = (program: string) =>
  (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)))

/** Who is left of a terminal: its processes carry its session in their environment. */
const processExists = (pid: number) => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return false
  }
}

const output = (value: Record<string, unknown>) => String(value.output)

describe("a shell", () => {
  it.live("keeps its state, and says how each command ended", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        assert.deepInclude(yield* send(agent, id, "cd /usr && X=42"), { reason: "prompt", exit_code: 0 })
        const looked = yield* send(agent, id, "pwd; echo $X; false")
        assert.deepInclude(looked, { reason: "prompt", exit_code: 1 })
        assert.include(output(looked), "\n/usr\n42\n")
      })
    )
  )

  it.live("gets Ctrl-D and arrows as keys", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        assert.deepInclude(yield* send(agent, id, "cat"), { reason: "input", program: "cat" })
        assert.include(output(yield* send(agent, id, "héllo")), "héllo\nhéllo")
        assert.deepInclude(yield* send(agent, id, "\u0004", { submit: false }), { reason: "prompt" })
        yield* send(agent, id, "echo a$((40 + 2))b")
        const again = yield* send(agent, id, "\u001b[A")
        assert.include(output(again), "\na42b\n")
      })
    )
  )

  it.live("gets exactly the bytes of what is typed (B29)", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        yield* send(agent, id, "stty raw -echo; head -c 8 | od -An -tx1; stty sane")
        yield* send(agent, id, "ab")
        yield* send(agent, id, "\u0003", { submit: false })
        const { output: shown } = yield* send(agent, id, "\\x03", { submit: false })
        assert.match(String(shown), /61 62 0d 03 5c 78 30 33/)
      })
    )
  )

  it.live("has a running command interrupted by Ctrl-C and by a signal", () =>
    live(
      (agent, id) =>
        Effect.gen(function* () {
          assert.deepInclude(yield* send(agent, id, "sleep 300"), { reason: "silence", program: "sleep" })
          assert.deepInclude(yield* send(agent, id, "\u0003", { submit: false }), { reason: "prompt", exit_code: 130 })
          yield* send(agent, id, "sleep 300")
          const killed = valueOf(yield* call("terminal_signal", { sessionId: id, signal: "SIGKILL" }, agent))
          assert.deepInclude(killed, { reason: "prompt", exit_code: 137 })
          const refused = yield* call("terminal_signal", { sessionId: id, signal: "SIGKILL" }, agent)
          assert.include(refused.text, "signal_refused")
        }),
      { terminal: { silence: Duration.millis(500) } }
    )
  )

  it.live("says that a command reads, whose prompt has no line end, and takes the answer", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        const asked = yield* send(agent, id, "read -p 'Name? ' name && echo got $name")
        assert.deepInclude(asked, { reason: "input" })
        assert.match(output(asked), /Name\? $/)
        assert.include(output(yield* send(agent, id, "Ada")), "\ngot Ada\n")
      })
    )
  )

  it.live("sees nothing of the host's environment but what is listed, and no marks of its own", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        process.env.AFTERTURN_TEST_SECRET = "hush"
        const { output: shown } = yield* send(agent, id, "env | cut -d= -f1 | sort | tr '\\n' ' '; echo")
        const names = String(shown).split("\n").at(-2)!.trim().split(" ")
        assert.include(names, "AFTERTURN_SESSION_ID")
        for (const name of ["AFTERTURN_TEST_SECRET", "PS1", "PROMPT_COMMAND", "HISTFILE"])
          assert.notInclude(names, name)
      })
    )
  )

  it.live("ends with what it left behind reported, and closing ends that, too", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        // One in the shell's session, and one that left it for a session of its own.
        yield* send(agent, id, "sleep 301 & echo p=$!")
        const { output: shown } = yield* send(agent, id, "(setsid sh -c 'echo q=$$; exec sleep 302' &); sleep 0.3")
        const { output: all } = valueOf(yield* call("terminal_read", { sessionId: id }, agent))
        const pids = [/\np=(\d+)/.exec(String(all))?.[1], /\nq=(\d+)/.exec(String(shown))?.[1]].map(Number)
        assert.deepStrictEqual(pids.map(processExists), [true, true])
        const started = Date.now()
        assert.deepInclude(yield* send(agent, id, "exit 3"), { reason: "exit", exit: "exit code: 3" })
        assert.isBelow(Date.now() - started, 5_000)
        const list = valueOf(yield* call("terminal_list", {}, agent))
        assert.deepInclude((list.terminals as ReadonlyArray<Record<string, unknown>>)[0], {
          state: "exited",
          survivors: 2
        })
        const late = yield* call("terminal_send", { sessionId: id, text: "\u0003", submit: false }, agent)
        assert.include(late.text, "already exited (exit code: 3)")
        assert.isTrue((yield* call("terminal_close", { sessionId: id }, agent)).ok)
        assert.deepStrictEqual(pids.map(processExists), [false, false])
      })
    )
  )

  it.live("is closed with everything in it, also what ignores hang-ups", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        const command = "bash -c 'trap \"\" HUP TERM; echo p=$$; while :; do sleep 1; done'"
        yield* send(agent, id, command, { run_in_background: true })
        const terminals = yield* Terminals
        const find = Effect.map(terminals.read(owner, id), ({ lines }) => /^p=(\d+)$/m.exec(lines.join("\n"))?.[1])
        let found = yield* find
        while (found === undefined) found = yield* Effect.delay(find, "20 millis")
        const pid = Number(found)
        assert.isTrue(processExists(pid))
        assert.isTrue((yield* call("terminal_close", { sessionId: id }, agent)).ok)
        assert.isFalse(processExists(pid))
      })
    )
  )
})

describe("an interpreter", () => {
  const cases = [
    {
      program: "node",
      start: "node",
      prompt: "> ",
      line: (n: number) => `x = (globalThis.x ?? 0) + ${n}`,
      leave: ".exit"
    },
    {
      program: "python3",
      start: "python3 -q",
      prompt: ">>> ",
      line: (n: number) => `x = globals().get('x', 0) + ${n}; x`,
      leave: "exit()"
    }
  ]

  for (const { leave, line, program, prompt, start } of cases) {
    it.live.skipIf(!isInstalled(program))(`keeps its values across ten texts: ${program}`, () =>
      live((agent, id) =>
        Effect.gen(function* () {
          assert.deepInclude(yield* send(agent, id, start), { reason: "input" })
          for (let n = 1; n <= 10; n++) {
            const answered = yield* send(agent, id, line(n))
            assert.strictEqual(answered.reason, "input")
            assert.include(output(answered), `\n${(n * (n + 1)) / 2}\n${prompt}`)
          }
          assert.deepInclude(yield* send(agent, id, leave), { reason: "prompt", exit_code: 0 })
        })
      )
    )
  }
})

describe("a program that has the whole screen", () => {
  it.live.skipIf(!isInstalled("vim"))("is read as a screen, and left cleanly: vim", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        assert.deepInclude(yield* send(agent, id, "vim -u NONE -n"), { full_screen: true, program: "vim" })
        yield* send(agent, id, "ihello from vim", { submit: false })
        const { output: screen } = valueOf(yield* call("terminal_read", { sessionId: id }, agent))
        assert.match(String(screen), /^hello from vim\n~/)
        const left = yield* send(agent, id, "\u001b:q!")
        assert.deepInclude(left, { reason: "prompt", full_screen: false, exit_code: 0 })
        assert.notInclude(output(left), "hello from vim")
      })
    )
  )

  it.live.skipIf(!isInstalled("less"))("is read as a screen, and left cleanly: less", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        const first = yield* send(agent, id, "seq 1000 | less")
        assert.deepInclude(first, { reason: "input", full_screen: true })
        assert.match(output(first), /^1\n2\n/)
        const { output: last } = yield* send(agent, id, "G", { submit: false })
        assert.match(String(last), /\n1000\n/)
        assert.deepInclude(yield* send(agent, id, "q", { submit: false }), { reason: "prompt", full_screen: false })
      })
    )
  )
})

describe("a text in the background", () => {
  it.live("is a job whose output is what was written, and whose end is the prompt", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        const command = "printf '\\342\\224'; sleep 0.3; printf '\\200 \\033[31mred\\033[0m\\n'; sh -c 'exit 4'"
        const { job_id } = yield* send(agent, id, command, { run_in_background: true })
        const ended = valueOf(yield* call("job_output", { job_id, wait: true, timeout_ms: 10_000 }, agent))
        assert.deepInclude(ended, { status: "completed", detail: `terminal ${id} is at its prompt, exit code: 4` })
        assert.include(output(ended), "\n─ red\n")
      })
    )
  )

  it.live("is interrupted by job_kill, and the terminal stays with its state", () =>
    live((agent, id) =>
      Effect.gen(function* () {
        yield* send(agent, id, "X=7")
        const { job_id } = yield* send(agent, id, "sleep 300", { run_in_background: true })
        yield* Effect.sleep("300 millis")
        assert.deepInclude(valueOf(yield* call("job_kill", { job_id }, agent)), { status: "killed" })
        assert.include(output(yield* send(agent, id, "echo X is $X")), "\nX is 7\n")
      })
    )
  )
})
