import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type { JobProcess } from "@afterturn/jobs/Job"
import type { ShellBackend } from "@afterturn/shell/ShellBackend"
import * as Node from "@afterturn/shell/ShellBackend/Node"
import * as Pty from "@afterturn/terminal/TerminalBackend/Pty"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { folder } from "../../support/temporary.js"
import {
  argumentsOf,
  complete,
  eventually,
  groupExists,
  membersAre,
  processExists,
  readAll,
  readUntil,
  request,
  path as searchPath,
  spawn
} from "../support/processes.js"

const onNode = <A, E>(effect: Effect.Effect<A, E, ShellBackend | Scope.Scope>) =>
  Effect.provide(Effect.scoped(effect), Node.layer)

describe("a command", () => {
  // Beside the words before a syntax error, which name the shell's own reader.
  const scripts = [
    "echo out; echo err >&2; echo out again",
    'echo "$0 $# $- $SHLVL $PPID" | sed "s/ [0-9]*$/ /"',
    "exit 3; echo never",
    "false",
    "(exit 7)",
    "exec sh -c 'exit 9'",
    "no_such_command",
    "set -e; false; echo never",
    "set -u; echo $UNSET",
    "trap 'echo bye' EXIT; echo hi; exit 4",
    "trap 'echo err' ERR; false; echo on",
    "return 3",
    "cat; echo $?",
    "read -r line; echo $?",
    "cat <<EOF\nbody $((1 + 1))\nEOF\n",
    "cat <<'EOF'\nno end",
    "echo a\n\n\necho $LINENO",
    "echo 'quote \" and \\ and $(x)'",
    "x=1; f() { local y=2; echo $x$y; }; f",
    `echo \${BASH_SOURCE[@]-none} $FUNCNAME`,
    "echo tail\\\n",
    "# only a comment",
    "kill -0 $$ && echo alive; echo $?",
    "printf '\\342\\224\\200\\377'",
    "type -t eval; alias x=y; x 2>&1 | wc -l",
    "sleep 0 & wait $!; echo $?; jobs",
    `a=(1 2 3); echo \${#a[@]}; [[ abc == a* ]] && echo yes`,
    "exit 143",
    "exit 255",
    "(kill -TERM $BASHPID); echo $?"
  ]

  it.live("means what it means to bash -c", () =>
    onNode(
      Effect.forEach(
        scripts,
        (script) =>
          Effect.map(complete(script), ({ exit, output }) => {
            const plain = spawnSync("sh", ["-c", 'exec bash -c "$0" 2>&1 </dev/null', script], {
              cwd: "/tmp",
              env: { PATH: searchPath }
            })
            assert.deepStrictEqual(
              { script, output, exit },
              { script, output: plain.stdout.toString("utf8"), exit: { _tag: "Exited", code: plain.status ?? -1 } }
            )
          }),
        { concurrency: 4, discard: true }
      )
    )
  )

  it.live("names what is wrong with its text, and runs what stands before that", () =>
    onNode(
      Effect.gen(function* () {
        const { exit, output } = yield* complete("echo before\nif then\necho after")
        assert.deepStrictEqual(exit, { _tag: "Exited", code: 2 })
        assert.match(output, /^before\nbash: .*syntax error near unexpected token `then'/)
        assert.notInclude(output, "after")
      })
    )
  )

  it.live("may be larger than any buffer on its way", () =>
    onNode(
      Effect.gen(function* () {
        const text = "0123456789\n".repeat(200_000)
        const { exit, output } = yield* complete(`cat <<'END' | md5sum; exit 5\n${text}END\n`)
        const expected = spawnSync("md5sum", { input: text }).stdout.toString("utf8")
        assert.deepStrictEqual({ exit, output }, { exit: { _tag: "Exited", code: 5 }, output: expected })
      })
    )
  )

  it.live("stands in no argument list, nor does what surrounds it", () =>
    onNode(
      Effect.gen(function* () {
        const process = yield* spawn()
        yield* process.start("echo up; sleep 300 # marker-abc")
        yield* readUntil(process, "up\n")
        yield* eventually("sleep runs", () => argumentsOf(process.process.pid).includes("sleep 300 "))
        const others = argumentsOf(process.process.pid).filter((line) => line !== "sleep 300 ")
        assert.deepStrictEqual(
          others.map((line) => line.replace(/^\S*bash/, "bash")),
          ['bash -c e\\val "$AFTERTURN_SUPERVISOR" ', 'bash -c e\\val "$AFTERTURN_COMMAND" bash ']
        )
        yield* process.signal("SIGKILL")
      })
    )
  )

  it.live("writes to /dev/stdout and /dev/stderr, in the order in which it does", () =>
    onNode(
      Effect.gen(function* () {
        const { output } = yield* complete(
          "for i in 1 2 3; do echo o$i; echo e$i >&2; echo p$i >/dev/stdout; echo q$i | tee /dev/stderr >/dev/null; done"
        )
        assert.strictEqual(output, [1, 2, 3].map((i) => `o${i}\ne${i}\np${i}\nq${i}\n`).join(""))
      })
    )
  )

  it.live("starts with the signals and the descriptors of a fresh process", () =>
    onNode(
      Effect.gen(function* () {
        const { output } = yield* complete(
          "grep -E 'Sig(Ign|Blk)' /proc/self/status; for fd in 3 4 5 6; do { : >&$fd; } 2>/dev/null && echo $fd; done; readlink /proc/self/fd/0"
        )
        assert.strictEqual(output, `SigBlk:\t${"0".repeat(16)}\nSigIgn:\t${"0".repeat(16)}\n/dev/null\n`)
      })
    )
  )

  it.live("has nothing of the host open, also not what that lets its children inherit", () =>
    onNode(
      Effect.gen(function* () {
        // The library leaves the host's side of a terminal open in whatever the host starts.
        yield* Pty.make(process.platform).open({
          command: "sleep",
          args: ["60"],
          cwd: "/tmp",
          environment: { PATH: searchPath },
          size: { columns: 80, rows: 24 }
        })
        const naked = spawnSync("bash", ["-c", "ls -l /proc/$$/fd"])
        assert.include(naked.stdout.toString(), "ptmx")
        const { output } = yield* complete("sh -c 'ls /proc/$$/fd; :'; ls -l /proc/$$/fd /proc/$PPID/fd | grep -c ptmx")
        assert.strictEqual(output, "0\n1\n2\n0\n")
      })
    )
  )

  it.live("sees the environment that it is given and no other", () =>
    onNode(
      Effect.gen(function* () {
        const { output } = yield* complete("env | cut -d= -f1 | sort | xargs", {
          environment: { PATH: searchPath, GIVEN: "1", AFTERTURN_JOB_ID: "bash-1" }
        })
        assert.strictEqual(output, "AFTERTURN_JOB_ID AFTERTURN_PROCESS_MARK GIVEN PATH PWD SHLVL _\n")
      })
    )
  )
})

describe("the end of a shell", () => {
  const ends: ReadonlyArray<readonly [command: string, end: unknown]> = [
    ["exit 143", { _tag: "Exited", code: 143 }],
    ["kill -TERM $$", { _tag: "Signaled", signal: "SIGTERM" }],
    ["kill -KILL $$", { _tag: "Signaled", signal: "SIGKILL" }],
    ["kill -INT $$; sleep 1", { _tag: "Signaled", signal: "SIGINT" }],
    ["exec sh -c 'kill -SEGV $$'", { _tag: "Signaled", signal: "SIGSEGV" }],
    ["kill 0; sleep 1", { _tag: "Signaled", signal: "SIGTERM" }],
    ["exit 137", { _tag: "Exited", code: 137 }],
    ["exit 200", { _tag: "Exited", code: 200 }],
    ["trap 'exit 143' TERM; kill 0; sleep 1", { _tag: "Exited", code: 143 }]
  ]

  it.live("is a code or a signal, never one for the other", () =>
    onNode(
      Effect.forEach(
        Array.from({ length: 10 }, () => ends).flat(),
        ([command, end]) =>
          Effect.map(complete(command), ({ exit }) =>
            assert.deepStrictEqual({ command, exit }, { command, exit: end })
          ),
        { concurrency: 4, discard: true }
      )
    )
  )

  it.live("is no concern of the host, whatever is done to $PPID", () =>
    onNode(
      Effect.gen(function* () {
        const polite = yield* complete("exec sh -c 'kill $PPID; kill -INT $PPID; kill -HUP $PPID; echo sent'")
        assert.deepStrictEqual(
          { exit: polite.exit, output: polite.output },
          { exit: { _tag: "Exited", code: 0 }, output: "sent\n" }
        )
        const rude = yield* spawn()
        yield* rude.start("kill -9 $PPID; sleep 300")
        assert.deepStrictEqual(yield* rude.exit, { _tag: "Signaled", signal: "SIGKILL" })
        yield* membersAre(rude, 2)
        yield* rude.signal("SIGKILL")
        yield* membersAre(rude, 0)
      })
    )
  )

  it.live("is known while others hold its output open", () =>
    onNode(
      Effect.gen(function* () {
        const process = yield* spawn()
        // More than what is read ahead, so that a part is still in the kernel.
        yield* process.start("sleep 300 & printf '%0100000d' 0; echo done")
        assert.deepStrictEqual(yield* process.exit, { _tag: "Exited", code: 0 })
        assert.strictEqual(Buffer.from(yield* process.rest).toString("utf8"), `${"0".repeat(100_000)}done\n`)
        assert.strictEqual(Buffer.from(yield* process.rest).toString("utf8"), "")
        yield* process.signal("SIGKILL")
      })
    )
  )
})

describe("the group", () => {
  it.live("has who opened a group in the session, and not who left that", () =>
    onNode(
      Effect.gen(function* () {
        const process = yield* spawn()
        yield* process.start(
          "timeout 300 sleep 301 & setsid sleep 303 & escaped=$!; set -m; sleep 302 & echo $escaped; wait"
        )
        const escaped = Number(yield* readUntil(process, "\n"))
        const programs = () =>
          argumentsOf(process.process.pid)
            .map((line) => line.trim())
            .filter((line) => !line.includes("bash"))
        yield* eventually(
          "all have come up and one has left",
          () => programs().sort().join() === "sleep 301,sleep 302,timeout 300 sleep 301"
        )
        yield* membersAre(process, 5)
        yield* process.signal("SIGTERM")
        yield* membersAre(process, 0)
        yield* eventually(
          "all numbers are free",
          Effect.map(process.members, ({ unreaped }) => unreaped === 0)
        )
        assert.isFalse(groupExists(process.process.group))
        assert.isTrue(processExists(escaped))
        globalThis.process.kill(escaped, "SIGKILL")
      })
    )
  )

  it.live("hears SIGTERM also when it is stopped", () =>
    onNode(
      Effect.gen(function* () {
        const process = yield* spawn()
        yield* process.start("trap 'echo bye; exit 6' TERM; echo up; kill -STOP $$")
        yield* readUntil(process, "up\n")
        yield* eventually("it stopped", () => stopped(process.process.pid))
        yield* process.signal("SIGTERM")
        assert.strictEqual(yield* readAll(process), "bye\n")
        assert.deepStrictEqual(yield* process.exit, { _tag: "Exited", code: 6 })
      })
    )
  )

  it.live("may be signalled when it is gone", () =>
    onNode(
      Effect.gen(function* () {
        const process = yield* spawn()
        yield* process.start("true")
        yield* process.exit
        yield* process.signal("SIGTERM")
        assert.deepStrictEqual(yield* process.members, { alive: 0, unreaped: 0 })
      })
    )
  )
})

/** Whether a process of the session is stopped. */
const stopped = (session: number): boolean =>
  fs.readdirSync("/proc").some((pid) => {
    try {
      const status = /^\d+$/.test(pid) ? fs.readFileSync(`/proc/${pid}/stat`, "utf8") : ""
      const fields = status.slice(status.lastIndexOf(")") + 2).split(" ")
      return Number(fields[3]) === session && fields[0] === "T"
    } catch {
      return false
    }
  })

describe("a shell without a command", () => {
  it.live("runs nothing, and ends with its scope", () =>
    onNode(
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const process = yield* Scope.extend(spawn(), scope)
        yield* membersAre(process, 1)
        yield* Scope.close(scope, Exit.void)
        yield* eventually("it is gone", () => !processExists(process.process.pid))
        assert.strictEqual(yield* process.read, undefined)
      })
    )
  )

  it.live("leaves nothing open", () =>
    onNode(
      Effect.gen(function* () {
        const open = () => fs.readdirSync("/proc/self/fd").length
        yield* complete("true")
        const before = open()
        yield* Effect.forEach([1, 2, 3, 4, 5], () => complete("sleep 0.1 >/dev/null & echo hi"))
        yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.scoped(spawn()))
        yield* eventually("all is closed", () => open() <= before)
      })
    )
  )

  it.live("is refused with what is wrong", () =>
    onNode(
      Effect.gen(function* () {
        const made = yield* folder
        fs.writeFileSync(path.join(made, "plain"), "no program")
        fs.writeFileSync(path.join(made, "other"), "#!/bin/sh\nexit 3\n", { mode: 0o755 })
        const refused = (more: Parameters<typeof request>[0]) => Effect.flip(Effect.scoped(spawn(more)))
        const missing = yield* refused({ workdir: path.join(made, "none") })
        assert.strictEqual(missing._tag, "WorkdirNotFound")
        assert.include(missing.message, `"${made}/none" does not exist`)
        assert.include((yield* refused({ workdir: path.join(made, "plain") })).message, "is not a folder")
        assert.include((yield* refused({ workdir: path.join(made, "plain", "x") })).message, "is not a folder")
        for (const shell of ["no-such-shell", path.join(made, "none"), path.join(made, "plain"), made, "./bash"]) {
          assert.strictEqual((yield* refused({ shell }))._tag, "ShellNotFound")
        }
        assert.strictEqual((yield* refused({ environment: {} }))._tag, "ShellNotFound")
        const other = yield* refused({ shell: path.join(made, "other") })
        assert.strictEqual(other._tag, "SpawnFailed")
        assert.include(other.message, "ended before it was up (exit code 3)")
        const huge = yield* refused({ environment: { PATH: searchPath, HUGE: "x".repeat(10_000_000) } })
        assert.strictEqual(huge._tag, "SpawnFailed")
        assert.include(huge.message, "E2BIG")
      })
    )
  )

  it.live("that does not come up is ended when nobody waits for it any more", () =>
    onNode(
      Effect.gen(function* () {
        const made = yield* folder
        const shell = path.join(made, "slow")
        fs.writeFileSync(shell, `#!/bin/sh\necho $$ > ${made}/pid\nexec sleep 300\n`, { mode: 0o755 })
        const waiting = yield* Effect.fork(Effect.scoped(spawn({ shell })))
        const pid = () => Number.parseInt(fs.readFileSync(path.join(made, "pid"), "utf8"), 10)
        yield* eventually(
          "it runs",
          () => fs.existsSync(path.join(made, "pid")) && argumentsOf(pid()).includes("sleep 300 ")
        )
        yield* Fiber.interrupt(waiting)
        yield* eventually("it is gone", () => argumentsOf(pid()).length === 0)
      })
    )
  )

  it.live("is refused on a platform without bash", () =>
    Effect.gen(function* () {
      const windows = Node.make("win32")
      const refused = yield* Effect.flip(Effect.scoped(windows.spawn(request())))
      assert.strictEqual(refused._tag, "PlatformNotSupported")
      assert.include(refused.message, "not supported on win32")
    })
  )
})

describe("what an earlier host left", () => {
  /** A shell that the test's backend no longer knows of, running `sleep 300` as a child of what is its leader. */
  const left = (command: string) =>
    Effect.gen(function* () {
      const process = yield* spawn()
      yield* process.start(command)
      yield* Effect.addFinalizer(() => process.signal("SIGKILL"))
      yield* readUntil(process, "up\n")
      return process
    })
  const find = (recorded: JobProcess) => Node.make("linux").find(recorded)

  it.live("is found by its leader", () =>
    onNode(
      Effect.gen(function* () {
        const process = yield* left("sleep 300 & echo up; wait")
        const remains = yield* find(process.process)
        assert(remains._tag === "Found")
        assert.deepStrictEqual(yield* remains.group.members, { alive: 3, unreaped: 0 })
        yield* remains.group.signal("SIGTERM")
        yield* membersAre(process, 0)
        assert.deepStrictEqual(yield* find(process.process), { _tag: "Gone" })
      })
    )
  )

  it.live("is found without its leader by the mark that its processes carry", () =>
    onNode(
      Effect.gen(function* () {
        const process = yield* left("sleep 300 & echo up")
        yield* process.exit
        const remains = yield* find(process.process)
        assert(remains._tag === "Found")
        assert.strictEqual((yield* remains.group.members).alive, 1)
      })
    )
  )

  it.live("is unclear when its processes carry no mark", () =>
    onNode(
      Effect.gen(function* () {
        const process = yield* left("env -i sleep 300 & echo $!; echo up")
        yield* process.exit
        yield* eventually("env has gone over to sleep", () => argumentsOf(process.process.pid)[0] === "sleep 300 ")
        const remains = yield* find(process.process)
        assert(remains._tag === "Unclear")
        assert.strictEqual(remains.pids.length, 1)
        assert.isTrue(processExists(remains.pids[0]!))
      })
    )
  )

  it.live("is gone when its number has another process", () =>
    onNode(
      Effect.gen(function* () {
        const { process } = yield* left("echo up; sleep 300")
        assert.strictEqual((yield* find(process))._tag, "Found")
        const started = process.startedAt
        const later = started.replace(/^\d+/, (ticks) => String(Number(ticks) + 1))
        assert.deepStrictEqual(yield* find({ ...process, startedAt: later }), { _tag: "Gone" })
      })
    )
  )

  it.live("is gone with the boot it belonged to, and unclear where boots or pids cannot be told apart", () =>
    onNode(
      Effect.gen(function* () {
        const { process } = yield* left("echo up; sleep 300")
        assert.deepStrictEqual(yield* find({ ...process, bootId: "another" }), { _tag: "Gone" })
        assert.strictEqual((yield* find({ ...process, bootId: "" }))._tag, "Unclear")
        assert.strictEqual(
          (yield* find({ ...process, startedAt: process.startedAt.replace(/@/, "@other") }))._tag,
          "Unclear"
        )
        assert.strictEqual((yield* find({ ...process, startedAt: "" }))._tag, "Unclear")
        assert.strictEqual((yield* Node.make("win32").find(process))._tag, "Unclear")
      })
    )
  )
})
