import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import type { ApprovalDecision, ApprovalRequest } from "@afterturn/agent/Approval"
import { Approval } from "@afterturn/agent/Approval"
import { CallPatience } from "@afterturn/agent/CallPatience"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { JobId } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import * as FileSpool from "@afterturn/jobs/JobSpool/Files"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { ShellToolsOptions } from "@afterturn/shell/ShellConfig"
import { PlatformNotSupported, ShellNotFound, SpawnFailed, WorkdirNotFound } from "@afterturn/shell/ShellError"
import * as ShellTools from "@afterturn/shell/ShellTools"
import * as Tool from "@effect/ai/Tool"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as TestServices from "effect/TestServices"
import * as Events from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"
import { folder } from "../support/temporary.js"
import { bash, call, layer, layerForeground, newAgent, valueOf } from "./support/agents.js"
import * as Fake from "./support/fake.js"
import { eventually, owner } from "./support/processes.js"

const settings = (options?: Partial<ShellToolsOptions>): ShellToolsOptions => ({
  timeoutMs: 120_000,
  maxTimeoutMs: 600_000,
  enableRunInBackground: true,
  noticesDelivered: true,
  ...options
})

const settle = TestClock.adjust("0 millis")

/** What opened each turn. */
const turns = Effect.map(Events.dataOf(owner, AgentEvents.TurnStart), (starts) =>
  starts.map(({ source }) => source.kind)
)

/** The jobs of each notice that a turn claimed. */
const notices = Effect.map(Events.dataOf(owner, AgentEvents.UserMessage), (messages) =>
  messages.flatMap(({ source }) => (source.kind === "job-notice" ? [source.jobs] : []))
)

/** A test with its own fake processes. */
const withFake = <A, E>(
  options: Parameters<typeof layer>[1],
  test: (
    backend: Fake.FakeBackend
  ) => Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layer>> | import("effect/Scope").Scope>
) =>
  Effect.suspend(() => {
    const backend = Fake.make()
    return Effect.provide(Effect.scoped(test(backend)), layer(backend.layer, options))
  })

describe("the tool", () => {
  const schemaOf = (tool: Tool.Any) => JSON.parse(JSON.stringify(Tool.getJsonSchema(tool as never)))

  it("has the parameters of the contract, closed and described, with a background and without", () => {
    const both = schemaOf(ShellTools.toolkit(settings()).tools.bash)
    const foreground = schemaOf(ShellTools.toolkitForeground(settings()).tools.bash)
    for (const schema of [both, foreground]) {
      for (const property of Object.values<Record<string, unknown>>(schema.properties)) {
        assert.match(String(property.description), /\w \w/)
      }
      assert.deepStrictEqual(schema.required, ["description", "command"])
      assert.isFalse(schema.additionalProperties)
      assert.strictEqual(schema.type, "object")
    }
    const types = (schema: typeof both) =>
      Object.entries<Record<string, unknown>>(schema.properties).map(([name, { type }]) => `${name}: ${type}`)
    assert.deepStrictEqual(types(foreground), [
      "description: string",
      "command: string",
      "timeoutMs: integer",
      "workdir: string"
    ])
    assert.deepStrictEqual(types(both), [...types(foreground), "run_in_background: boolean"])
  })

  it("tells to look before deleting, to guard empty variables, and what outlasting its time comes to", () => {
    const { description = "", parametersSchema } = ShellTools.toolkit(settings({ timeoutMs: 7000 })).tools.bash
    assert.match(description, /delete or move .* absolute path/)
    assert.include(description, `"\${NAME:?}"`)
    assert.include(description, "run_in_background")
    assert.include(
      JSON.stringify(schemaOf(ShellTools.toolkit(settings({ timeoutMs: 7000 })).tools.bash)),
      "7000 when absent"
    )
    assert.isDefined(parametersSchema)
    const alone = ShellTools.toolkitForeground(settings({ enableRunInBackground: false })).tools.bash
    assert.notInclude(alone.description ?? "", "run_in_background")
    assert.include(JSON.stringify(schemaOf(alone)), "is ended")
  })

  it.effect("is registered with what a catalog says of it", () =>
    withFake(undefined, () =>
      Effect.gen(function* () {
        const all = yield* Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.tools())
        const { info } = all.find(({ tool }) => tool.name === "bash")!
        assert.strictEqual(info.package, "@afterturn/shell")
        assert.deepStrictEqual(info.writes, ["job/start", "job/kill-requested", "job/settle"])
      })
    )
  )

  it.effect("does not start with times that no timer holds", () =>
    Effect.gen(function* () {
      for (const tools of [
        { timeoutMs: 0 },
        { timeoutMs: 1.5 },
        { timeoutMs: 700_000 },
        { maxTimeoutMs: 2 ** 31 },
        { timeoutMs: 10, maxTimeoutMs: 5 }
      ]) {
        const exit = yield* Effect.exit(Effect.scoped(Layer.build(layer(Fake.make().layer, { tools }))))
        assert.strictEqual(exit._tag, "Failure", JSON.stringify(tools))
      }
    })
  )
})

describe("a command in the foreground", () => {
  it.effect("answers with its output, its exit code and where it stands", () =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const answer = yield* Effect.fork(bash({ command: "make" }, agent))
        const process = yield* backend.running
        yield* process.write("built\n")
        yield* TestClock.adjust("2 seconds")
        yield* process.exit(2)
        yield* settle
        const outcome = yield* Fiber.join(answer)
        assert.deepStrictEqual(valueOf(outcome), {
          job_id: "bash-1",
          status: "completed",
          detail: "exit code: 2, after 2s",
          exit_code: 2,
          output: "built\n",
          cursor: 6
        })
        assert.strictEqual(outcome.text, "built\n[status: completed, exit code: 2, after 2s]")
      })
    )
  )

  it.effect("that wrote nothing says so", () =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const answer = yield* Effect.fork(bash({ command: "true" }, yield* newAgent()))
        yield* Effect.flatMap(backend.running, (process) => process.exit(0))
        yield* settle
        assert.strictEqual(
          (yield* Fiber.join(answer)).text,
          "(no output)\n[status: completed, exit code: 0, after 0ms]"
        )
      })
    )
  )

  it.effect("is a job from its start, and counts against the limit", () =>
    withFake({ jobs: { maxConcurrentJobsPerOwner: 1 } }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const jobs = yield* Jobs
        const answer = yield* Effect.fork(bash({ command: "first\nline" }, agent))
        const process = yield* backend.running
        const [job] = yield* jobs.list(agent.id)
        assert.deepInclude(job!, {
          id: JobId.make("bash-1"),
          kind: "bash",
          status: "running",
          label: "first\\nline",
          foreground: true
        })
        const [start] = yield* Events.dataOf(owner, JobEvents.JobStart)
        assert.deepStrictEqual(start?.process, { pid: 100, group: 100, startedAt: "1@", bootId: "boot" })
        const refused = yield* bash({ command: "second" }, agent)
        assert.strictEqual(refused.error?.code, "job_limit_reached")
        assert.include(refused.text, "bash-1")
        assert.strictEqual(backend.processes.length, 1)
        yield* process.exit(0)
        yield* settle
        yield* Fiber.join(answer)
        const next = yield* Effect.fork(bash({ command: "third" }, agent))
        yield* Effect.flatMap(backend.running, (third) => third.exit(0))
        yield* settle
        assert.strictEqual(valueOf(yield* Fiber.join(next)).job_id, "bash-2")
      })
    )
  )

  it.effect("in a turn makes no notice and wakes nobody", () => {
    const model = FakeModel.replies(
      { calls: [{ name: "bash", input: { description: "d", command: "c" } }] },
      { text: "ok" }
    )
    return withFake({ model }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        yield* agent.followup(AgentMessage.user("go"))
        const process = yield* backend.running
        yield* process.exit(0)
        yield* settle
        yield* agent.whenIdle
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* sources(), ["user"])
        const [result] = yield* Events.dataOf(owner, AgentEvents.ToolResult)
        assert.include(result?.text, "[status: completed, ")
      })
    )
  })

  it.effect("ended by a signal from outside is killed, and has no exit code", () =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const answer = yield* Effect.fork(bash({ command: "c" }, yield* newAgent()))
        yield* Effect.flatMap(backend.running, (process) => process.endBySignal("SIGTERM"))
        yield* settle
        const value = valueOf(yield* Fiber.join(answer))
        assert.deepInclude(value, { status: "killed", detail: "ended by SIGTERM from outside, after 0ms" })
        assert.notProperty(value, "exit_code")
      })
    )
  )
})

/** What opened the turns of the session. */
const sources = () =>
  Effect.map(Events.dataOf(owner, AgentEvents.TurnStart), (all) => all.map(({ source }) => source.kind))

describe("a command that outlasts its time", () => {
  const promoted = (input: Record<string, unknown>, millis: number) =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const answer = yield* Effect.fork(bash({ command: "c", ...input }, agent))
        const process = yield* backend.running
        yield* process.write("so far\n")
        yield* TestClock.adjust(millis - 1)
        assert.deepStrictEqual(yield* Fiber.poll(answer), Option.none())
        yield* TestClock.adjust(1)
        const outcome = yield* Fiber.join(answer)
        assert.deepStrictEqual(valueOf(outcome), {
          job_id: "bash-1",
          status: "running",
          output: "so far\n",
          timed_out: true,
          cursor: 7
        })
        assert.strictEqual(
          outcome.text,
          [
            "so far",
            "The command did not end in time and goes on in the background as bash-1.",
            "You will be told when it ends: do not wait for it. job_output reads what it writes, job_kill ends it.",
            "[status: running]"
          ].join("\n")
        )
        assert.deepStrictEqual(process.signals, [])
        assert.isFalse(yield* Effect.flatMap(Jobs, (jobs) => jobs.isForeground(JobId.make("bash-1"), owner)))
        yield* process.write("and on\n")
        yield* settle
        const read = yield* call("job_output", { job_id: "bash-1" }, agent)
        assert.strictEqual(read.text, "and on\n[status: running]")
      })
    )

  it.effect("goes on in the background after two minutes", () => promoted({}, 120_000))
  it.effect("goes on after the time that the model named", () => promoted({ timeoutMs: 5000 }, 5000))
  it.effect("has the longest time at most", () => promoted({ timeoutMs: 99_999_999 }, 600_000))
  it.effect("goes on once whoever called waits no longer", () =>
    promoted({}, 45_000).pipe(Effect.provideService(CallPatience, Duration.seconds(45)))
  )
  it.effect("takes a time that was written as text", () => promoted({ timeoutMs: " 300000 " }, 300_000))
  it.effect("takes null for what is left out", () =>
    promoted({ timeoutMs: null, workdir: null, run_in_background: null }, 120_000)
  )

  it.effect("is told of once it ends, once", () => {
    const model = FakeModel.replies(
      { calls: [{ name: "bash", input: { description: "d", command: "c", timeoutMs: 1000 } }] },
      { text: "it goes on" },
      { text: "it ended" }
    )
    return withFake({ model }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        yield* agent.followup(AgentMessage.user("go"))
        const process = yield* backend.running
        yield* TestClock.adjust("1 second")
        yield* agent.whenIdle
        yield* process.exit(4)
        yield* settle
        yield* agent.whenIdle
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* sources(), ["user", "job-notice"])
      })
    )
  })

  it.effect("is refused a time that is none", () =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        for (const timeoutMs of [0, -1, 1.5, "abc", "", "30 seconds", Number.NaN]) {
          const outcome = yield* bash({ command: "c", timeoutMs }, agent)
          assert.strictEqual(outcome.error?.code, "invalid_arguments", String(timeoutMs))
          assert.include(outcome.text, "timeoutMs")
        }
        assert.strictEqual(backend.processes.length, 0)
      })
    )
  )

  it.effect("is ended where nothing runs in the background, and its job says why", () =>
    withFake({ tools: { enableRunInBackground: false, timeoutMs: 1000 } }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const answer = yield* Effect.fork(bash({ command: "c" }, agent))
        const process = yield* backend.running
        yield* process.write("half")
        yield* TestClock.adjust("1 second")
        const outcome = yield* Fiber.join(answer)
        assert.deepStrictEqual(valueOf(outcome), {
          job_id: "bash-1",
          status: "killed",
          detail: "signal: SIGTERM, after 1s",
          output: "half",
          timed_out: true,
          cursor: 4
        })
        assert.strictEqual(
          outcome.text,
          "half\nThe command did not end in time and was ended.\n[status: killed, signal: SIGTERM, after 1s]"
        )
        const [settled] = yield* Events.dataOf(owner, JobEvents.JobSettle)
        assert.strictEqual(settled?.reason, "it took longer than 1s")
        const refused = yield* bash({ command: "c", run_in_background: true }, agent)
        assert.strictEqual(refused.error?.code, "invalid_arguments")
      })
    )
  )
})

describe("a command in the background", () => {
  for (const run_in_background of [true, "true"]) {
    it.effect(`answers at once with its id (${JSON.stringify(run_in_background)})`, () =>
      withFake(undefined, (backend) =>
        Effect.gen(function* () {
          const agent = yield* newAgent()
          const outcome = yield* bash({ command: "server", run_in_background, timeoutMs: 1 }, agent)
          assert.deepStrictEqual(valueOf(outcome), { job_id: "bash-1", status: "running", output: "" })
          assert.strictEqual(
            outcome.text,
            [
              "The command runs in the background as bash-1.",
              "You will be told when it ends: do not wait for it. job_output reads what it writes, job_kill ends it.",
              "[status: running]"
            ].join("\n")
          )
          yield* TestClock.adjust("1 day")
          const [process] = backend.processes
          assert.deepStrictEqual(process?.signals, [])
          yield* process!.exit(0)
          yield* settle
          yield* agent.whenIdle
          assert.deepStrictEqual(yield* sources(), ["job-notice"])
        })
      )
    )
  }

  it.effect("promises no notice where none can come", () =>
    withFake({ tools: { noticesDelivered: false } }, () =>
      Effect.gen(function* () {
        const outcome = yield* bash({ command: "server", run_in_background: true }, yield* newAgent())
        assert.notInclude(outcome.text, "You will be told")
        assert.include(outcome.text, "job_output reads what it writes, and waits for its end with wait: true")
      })
    )
  )

  it.effect("is ended with all of its group by job_kill, whose second call finds the same end", () =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        yield* bash({ command: "server", run_in_background: true }, agent)
        const killed = yield* call("job_kill", { job_id: "bash-1" }, agent)
        assert.deepInclude(valueOf(killed), { answer: "cancellation-requested", status: "killed" })
        assert.strictEqual(backend.processes[0]?.members, 0)
        const again = yield* call("job_kill", { job_id: "bash-1" }, agent)
        assert.deepInclude(valueOf(again), {
          answer: "already-finished",
          status: "killed",
          detail: valueOf(killed).detail
        })
      })
    )
  )
})

describe("a command that ignores SIGTERM", () => {
  it.effect("has ended with all of its group when job_kill answers", () =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        backend.manners = "ignores-term"
        yield* bash({ command: "server", run_in_background: true }, agent)
        const killing = yield* Effect.fork(call("job_kill", { job_id: "bash-1" }, agent))
        yield* TestClock.adjust("1800 millis")
        assert.strictEqual(valueOf(yield* Fiber.join(killing)).status, "killed")
        assert.strictEqual(backend.processes[0]?.members, 0)
      })
    )
  )
})

describe("a turn that is cancelled", () => {
  it.effect("ends the command that it waits for, and is over when nothing of that is left", () => {
    const model = FakeModel.replies({ calls: [{ name: "bash", input: { description: "d", command: "c" } }] })
    return withFake({ model }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        yield* agent.followup(AgentMessage.user("go"))
        const process = yield* backend.running
        yield* agent.cancel("user")
        assert.deepStrictEqual(process.signals, ["SIGTERM"])
        assert.strictEqual(process.members, 0)
        yield* TestClock.adjust("1 hour")
        const [settled] = yield* Events.dataOf(owner, JobEvents.JobSettle)
        assert.deepInclude(settled!, { id: JobId.make("bash-1"), status: "killed", reason: "the turn was cancelled" })
        // Whoever cancelled it knows: neither is the agent woken for it, nor does a later turn bring it up.
        assert.deepStrictEqual(yield* turns, ["user"])
        yield* agent.followup(AgentMessage.user("and now?"))
        yield* settle
        yield* agent.whenIdle
        assert.deepStrictEqual(yield* turns, ["user", "user"])
        assert.deepStrictEqual(yield* notices, [])
      })
    )
  })

  it.effect("tells of a command that did not end, with the next turn", () => {
    const model = FakeModel.replies({ calls: [{ name: "bash", input: { description: "d", command: "c" } }] })
    return withFake({ model }, (backend) =>
      Effect.gen(function* () {
        backend.manners = "unkillable"
        const agent = yield* newAgent()
        yield* agent.followup(AgentMessage.user("go"))
        const process = yield* backend.running
        const cancelling = yield* Effect.fork(agent.cancel("user"))
        yield* TestClock.adjust("20 seconds")
        yield* Fiber.join(cancelling)
        process.manners = "polite"
        yield* TestClock.adjust("1 hour")
        const [settled] = yield* Events.dataOf(owner, JobEvents.JobSettle)
        assert.deepInclude(settled!, { status: "failed", detail: "did not stop" })
        assert.deepStrictEqual(yield* turns, ["user"])
        yield* agent.followup(AgentMessage.user("and now?"))
        yield* settle
        yield* agent.whenIdle
        assert.deepStrictEqual(yield* turns, ["user", "user"])
        assert.deepStrictEqual(yield* notices, [["bash-1"]])
      })
    )
  })

  it.effect("leaves it to a notice to tell of a command that outlasted its time before", () => {
    const calls = [{ name: "bash", input: { description: "d", command: "c", timeoutMs: 1000 } }]
    const model = FakeModel.make((request) =>
      request === 0 ? { calls } : request === 1 ? { hang: true } : { text: "ok" }
    )
    return withFake({ model }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        yield* agent.followup(AgentMessage.user("go"))
        const process = yield* backend.running
        yield* TestClock.adjust("1 second")
        yield* model.asked(1)
        yield* agent.cancel("user")
        assert.deepStrictEqual(process.signals, [])
        yield* process.exit(0)
        yield* settle
        yield* agent.whenIdle
        assert.deepStrictEqual(yield* turns, ["user", "job-notice"])
        assert.deepStrictEqual(yield* notices, [["bash-1"]])
      })
    )
  })

  it.effect(
    "in the moment in which its command goes on in the background lets it go on, and a notice tells of it",
    () => {
      const interruptCaller = Effect.withFiberRuntime<void>((fiber) => {
        fiber.unsafeInterruptAsFork(FiberId.none)
        return Effect.void
      })
      const seen = Layer.effect(
        Jobs,
        Effect.map(Jobs, (jobs) => ({
          ...jobs,
          background: (id: JobId, caller: typeof owner | undefined) =>
            Effect.zipLeft(jobs.background(id, caller), interruptCaller)
        }))
      )
      return withFake({ seen }, (backend) =>
        Effect.gen(function* () {
          const agent = yield* newAgent()
          const answer = yield* Effect.fork(bash({ command: "c", timeoutMs: 1000 }, agent))
          const process = yield* backend.running
          yield* TestClock.adjust("1 second")
          yield* Fiber.await(answer)
          assert.deepStrictEqual(process.signals, [])
          const [job] = yield* Effect.flatMap(Jobs, (jobs) => jobs.list(owner))
          assert.deepInclude(job!, { status: "running", foreground: false })
          yield* process.exit(0)
          yield* settle
          yield* agent.whenIdle
          assert.deepStrictEqual(yield* notices, [["bash-1"]])
        })
      )
    }
  )

  it.effect("while its command is being started leaves no job and no shell", () =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const begun = yield* Deferred.make<void>()
        backend.before = Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
        const answer = yield* Effect.fork(bash({ command: "c" }, agent))
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(answer)
        assert.strictEqual(backend.processes.length, 0)
        assert.deepStrictEqual(yield* Events.dataOf(owner, JobEvents.JobStart), [])
        assert.deepStrictEqual(yield* Effect.flatMap(Jobs, (jobs) => jobs.list(owner)), [])
      })
    )
  )

  it.effect("leaves alone what went on in the background", () => {
    const model = FakeModel.replies(
      { calls: [{ name: "bash", input: { description: "d", command: "c", run_in_background: true } }] },
      { hang: true }
    )
    return withFake({ model }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        yield* agent.followup(AgentMessage.user("go"))
        yield* model.asked(1)
        yield* agent.cancel("user")
        assert.deepStrictEqual(backend.processes[0]?.signals, [])
      })
    )
  })
})

describe("approval", () => {
  const approval = (decision: ApprovalDecision, asked: Array<ApprovalRequest>) =>
    Layer.succeed(Approval, {
      decide: (request) =>
        Effect.as(
          Effect.sync(() => asked.push(request)),
          decision
        )
    })

  it.effect("is asked for the command as it stands, before anything is started", () => {
    const asked: Array<ApprovalRequest> = []
    return withFake({ approval: approval({ _tag: "denied", reason: "a rule forbids it" }, asked) }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        for (const run_in_background of [true, false]) {
          const outcome = yield* bash({ command: "rm -rf build", run_in_background }, agent)
          assert.strictEqual(outcome.error?.code, "approval_denied")
          assert.include(outcome.text, "a rule forbids it")
        }
        assert.deepStrictEqual(asked, [
          { tool: "bash", action: "rm -rf build" },
          { tool: "bash", action: "rm -rf build" }
        ])
        assert.strictEqual(backend.processes.length, 0)
        assert.deepStrictEqual(yield* Effect.flatMap(Jobs, (jobs) => jobs.list(owner)), [])
      })
    )
  })

  it.effect("that is given lets the command run", () => {
    const asked: Array<ApprovalRequest> = []
    return withFake({ approval: approval({ _tag: "allowed" }, asked) }, () =>
      Effect.gen(function* () {
        assert.isTrue((yield* bash({ command: "ls", run_in_background: true }, yield* newAgent())).ok)
        assert.strictEqual(asked.length, 1)
      })
    )
  })
})

describe("a command that cannot be started", () => {
  const failures = [
    new ShellNotFound({ code: "shell_not_found", shell: "bash" }),
    new SpawnFailed({ code: "spawn_failed", reason: "EAGAIN" }),
    new WorkdirNotFound({ code: "workdir_not_found", workdir: "/none", reason: "does not exist" }),
    new PlatformNotSupported({ code: "platform_not_supported", platform: "win32" })
  ]

  it.effect("is answered with a code and leaves no job, no id and no place taken", () =>
    withFake({ jobs: { maxConcurrentJobsPerOwner: 1 } }, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent()
        for (const failure of failures) {
          backend.failure = failure
          for (const run_in_background of [true, false]) {
            const outcome = yield* bash({ command: "c", run_in_background }, agent)
            assert.deepStrictEqual(outcome.error, { code: failure.code, message: failure.message })
          }
        }
        backend.failure = undefined
        for (const command of ["", "  \n", "a\0b"]) {
          assert.strictEqual((yield* bash({ command }, agent)).error?.code, "invalid_command")
        }
        assert.deepStrictEqual(yield* Events.dataOf(owner, JobEvents.JobStart), [])
        assert.strictEqual(valueOf(yield* bash({ command: "c", run_in_background: true }, agent)).job_id, "bash-1")
      })
    )
  )

  it.effect("outside a session is refused", () =>
    withFake(undefined, () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* bash({ command: "c" })).error?.code, "no_owning_session")
      })
    )
  )
})

describe("the folder of a command", () => {
  const folderOf = (cwd: string | undefined, workdir?: string) =>
    withFake(undefined, (backend) =>
      Effect.gen(function* () {
        const agent = yield* newAgent(cwd === undefined ? {} : { cwd })
        const outcome = yield* bash(
          { command: "c", run_in_background: true, ...(workdir === undefined ? {} : { workdir }) },
          agent
        )
        return outcome.ok ? backend.processes[0]?.request.workdir : outcome.error?.code
      })
    )

  it.effect("is the session's, or one that is given from there or from the root", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* folderOf("/home/u"), "/home/u")
      assert.strictEqual(yield* folderOf("/home/u", "packages/api"), "/home/u/packages/api")
      assert.strictEqual(yield* folderOf("/home/u", "../v"), "/home/u/../v")
      assert.strictEqual(yield* folderOf("/home/u", "/etc"), "/etc")
      assert.strictEqual(yield* folderOf(undefined, "/etc"), "/etc")
      assert.strictEqual(yield* folderOf(undefined, "etc"), "workdir_not_found")
      assert.strictEqual(yield* folderOf(undefined), "workdir_not_found")
    })
  )
})

describe("a long output", () => {
  it.effect("is answered with its end, whole characters, within the limit with all words", () =>
    withFake({ shell: { outputLimitBytes: 3000 } }, (backend) =>
      Effect.gen(function* () {
        const answer = yield* Effect.fork(bash({ command: "c" }, yield* newAgent()))
        const process = yield* backend.running
        yield* process.write("ä€😀\n".repeat(5000))
        yield* process.write("the end\n")
        yield* process.exit(0)
        yield* settle
        const outcome = yield* Fiber.join(answer)
        assert.isAtMost(Buffer.byteLength(outcome.text), 3000)
        assert.isAtLeast(Buffer.byteLength(outcome.text), 1900)
        assert.match(outcome.text, /^\[… \d+ earlier bytes are left out …\]\n/)
        assert.match(outcome.text, /😀\nthe end\n\[status: completed, exit code: 0, after 0ms\]$/)
        assert.notInclude(outcome.text, "\uFFFD")
        const value = valueOf(outcome)
        assert.strictEqual(Number(value.dropped_bytes) + Buffer.byteLength(String(value.output)), 50_008)
      })
    )
  )

  it.scoped("says where all of it is, where a person can look", () =>
    Effect.gen(function* () {
      const backend = Fake.make()
      const made = yield* folder
      const spool = FileSpool.layer({ directory: made }).pipe(Layer.provide(NodeContext.layer))
      yield* Effect.gen(function* () {
        const agent = yield* newAgent()
        const answer = yield* Effect.fork(bash({ command: "c" }, agent))
        const process = yield* backend.running
        yield* process.write("x".repeat(5000))
        yield* process.exit(0)
        yield* eventually("it is answered", Effect.map(Fiber.poll(answer), Option.isSome)).pipe(
          TestServices.provideLive
        )
        const outcome = yield* Fiber.join(answer)
        const path = String(valueOf(outcome).output_path)
        assert.isTrue(path.startsWith(made))
        assert.include(outcome.text, `earlier bytes are left out; the whole output is in ${path} …]`)
        const background = yield* bash({ command: "c", run_in_background: true }, agent)
        assert.include(background.text, `Its output is kept in ${made}`)
      }).pipe(Effect.scoped, Effect.provide(layer(backend.layer, { shell: { outputLimitBytes: 2000 }, spool })))
    })
  )
})

describe("without jobs", () => {
  const alone = <A, E>(
    options: Parameters<typeof layerForeground>[1],
    test: (
      backend: Fake.FakeBackend
    ) => Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layerForeground>> | import("effect/Scope").Scope>
  ) =>
    Effect.suspend(() => {
      const backend = Fake.make()
      return Effect.provide(Effect.scoped(test(backend)), layerForeground(backend.layer, options))
    })

  it.effect("a command runs in the foreground, for an agent or for nobody", () =>
    alone(undefined, (backend) =>
      Effect.gen(function* () {
        for (const agent of [yield* newAgent(), undefined]) {
          const answer = yield* Effect.fork(bash({ command: "c", workdir: "/w" }, agent))
          const process = yield* backend.running
          assert.strictEqual(process.request.environment.AFTERTURN_SESSION_ID, agent?.id)
          assert.notProperty(process.request.environment, "AFTERTURN_JOB_ID")
          yield* process.write("out")
          yield* process.exit(1)
          yield* settle
          const outcome = yield* Fiber.join(answer)
          assert.deepStrictEqual(valueOf(outcome), {
            status: "completed",
            detail: "exit code: 1, after 0ms",
            exit_code: 1,
            output: "out"
          })
          assert.strictEqual(outcome.text, "out\n[status: completed, exit code: 1, after 0ms]")
        }
      })
    )
  )

  it.effect("one that outlasts its time is ended with its group", () =>
    alone(undefined, (backend) =>
      Effect.gen(function* () {
        const answer = yield* Effect.fork(bash({ command: "c", timeoutMs: 2000 }, yield* newAgent()))
        const process = yield* backend.running
        yield* process.write("half")
        yield* TestClock.adjust("2 seconds")
        const outcome = yield* Fiber.join(answer)
        assert.deepStrictEqual(valueOf(outcome), {
          status: "killed",
          detail: "signal: SIGTERM, after 2s",
          output: "half",
          timed_out: true
        })
        assert.strictEqual(process.members, 0)
        assert.strictEqual((yield* bash({ command: "c", run_in_background: true })).error?.code, "invalid_arguments")
      })
    )
  )

  it.effect("one whose turn is cancelled is ended with its group", () =>
    alone(undefined, (backend) =>
      Effect.gen(function* () {
        const answer = yield* Effect.fork(bash({ command: "c" }, yield* newAgent()))
        const process = yield* backend.running
        yield* Fiber.interrupt(answer)
        assert.deepStrictEqual(process.signals, ["SIGTERM"])
        assert.strictEqual(process.members, 0)
        assert.isTrue(process.isClosed())
      })
    )
  )

  it.effect("a limit that has no room for output leaves the words", () =>
    alone({ shell: { outputLimitBytes: 10 } }, (backend) =>
      Effect.gen(function* () {
        const answer = yield* Effect.fork(bash({ command: "c" }, yield* newAgent()))
        const process = yield* backend.running
        yield* process.write("one\n")
        yield* process.write("two\n")
        yield* process.exit(0)
        yield* settle
        assert.strictEqual(
          (yield* Fiber.join(answer)).text,
          "[… 8 earlier bytes are left out …]\n[status: completed, exit code: 0, after 0ms]"
        )
      })
    )
  )

  it.effect("a long output is cut to its end", () =>
    alone({ shell: { outputLimitBytes: 2000 } }, (backend) =>
      Effect.gen(function* () {
        const answer = yield* Effect.fork(bash({ command: "c" }, yield* newAgent()))
        const process = yield* backend.running
        for (let line = 0; line < 1000; line++) yield* process.write(`${line} ä\n`)
        yield* process.exit(0)
        yield* settle
        const outcome = yield* Fiber.join(answer)
        assert.isAtMost(Buffer.byteLength(outcome.text), 2000)
        assert.match(outcome.text, /^\[… \d+ earlier bytes are left out …\]\n/)
        assert.match(outcome.text, /\n998 ä\n999 ä\n\[status: completed/)
        assert.notInclude(outcome.text, "\uFFFD")
      })
    )
  )
})
