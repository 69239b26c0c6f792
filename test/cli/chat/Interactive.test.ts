import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { user } from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Approval from "@afterturn/agent/Approval"
import * as Display from "@afterturn/cli/chat/Display"
import * as Interactive from "@afterturn/cli/chat/Interactive"
import * as Questions from "@afterturn/cli/chat/Questions"
import * as Recall from "@afterturn/cli/chat/Recall"
import * as SlashCommand from "@afterturn/cli/chat/SlashCommand"
import { Tty } from "@afterturn/cli/chat/Tty"
import * as Job from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SubagentRun } from "@afterturn/subagent/SubagentEvents"
import type { Definition } from "@afterturn/testing/Script"
import type { ScriptedModelOptions } from "@afterturn/testing/ScriptedModel"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as rig from "./rig.js"

const id = SessionId.make("s1")

const includes = (part: string) => (text: string) => text.includes(part)
const count = (text: string, part: string) => text.split(part).length - 1

/** A chat with a new session that a test types to and looks at. */
const open = Effect.gen(function* () {
  const desk = yield* rig.makeDesk
  const agents = yield* Agents
  const agent = yield* agents.create({ id })
  const commands = [
    yield* SlashCommand.todo,
    yield* SlashCommand.jobs,
    yield* SlashCommand.agents,
    yield* SlashCommand.watch,
    SlashCommand.quit
  ]
  const happenings = yield* Display.makeHappenings
  const questions = Questions.make(happenings)
  const options = { title: "the title", commands, recalled: Recall.nothing, happenings, questions, color: true }
  const chat = yield* Effect.fork(
    Interactive.run({ agent, ...options }).pipe(Effect.scoped, Effect.provideService(Tty, desk.tty))
  )
  yield* desk.sees(includes("ready"))
  return { ...desk, agent, chat, left: Fiber.join(chat), happenings, questions }
})

const chatting = <A, E>(
  test: Effect.Effect<A, E, Effect.Effect.Context<typeof open> | SessionLog | Jobs>,
  options?: ScriptedModelOptions,
  script: Definition = rig.script
) => test.pipe(Effect.scoped, Effect.provide(rig.layer(script, options)))

/** A model that is asked and does not answer. */
const stuck: ScriptedModelOptions = { onRequest: () => Effect.never }

const turnEnds = Effect.flatMap(SessionLog, (log) =>
  Effect.map(Stream.runCollect(log.read(id, { types: ["turn/end"] })), (events) =>
    [...events].map(({ data }) => (data as { readonly reason: { readonly kind: string } }).reason.kind)
  )
)

describe("run", () => {
  it.live("shows what is said and done, with the checklist and the input below", () =>
    chatting(
      Effect.gen(function* () {
        const { left, sees, terminal, type } = yield* open
        yield* type("plan it\r")
        yield* sees(includes("Planned."))
        yield* sees(includes("ready"))
        assert.deepStrictEqual(terminal.text(), [
          "",
          "› plan it",
          "I plan.",
          "✓ todo_write(todos: 2 items) → 2 todos: 0 completed, 1 in …",
          "✓ todo_write(todos: 2 items) → 2 todos: 1 completed, 1 in …",
          "Planned.",
          "",
          "  ☑ todo 1",
          "  ▸ todo 2",
          "● ready · the title · /help",
          "›"
        ])
        assert.deepStrictEqual(terminal.cursor(), { row: 10, column: 2 })
        yield* type("/quit\r")
        yield* left
        assert.deepStrictEqual(terminal.text().slice(4), [
          "✓ todo_write(todos: 2 items) → 2 todos: 1 completed, 1 in …",
          "Planned."
        ])
        assert.isTrue(terminal.cursorShown)
      })
    )
  )

  it.live("hands what is entered while the agent works to its next step", () =>
    chatting(
      Effect.gen(function* () {
        const { agent, sees, terminal, type } = yield* open
        yield* type("first\r")
        yield* sees(includes("working"))
        yield* type("and\x1b\rmore\r")
        yield* sees(includes("waiting: and⏎more"))
        const log = yield* SessionLog
        const inbox = yield* Stream.runCollect(log.read(id, { types: ["agent/inbox/spliced"] }))
        assert.include([...inbox].at(-1)?.data, { list: "nextStep", op: "insert" })
        yield* type("\x03")
        yield* sees(includes("■ discarded: and"))
        yield* agent.whenIdle
        assert.strictEqual(count(terminal.text().join("\n"), "› first"), 1)
      }),
      stuck
    )
  )

  it.live("cancels the turn by Ctrl-C, and is left by a second one", () =>
    chatting(
      Effect.gen(function* () {
        const { left, sees, type } = yield* open
        yield* type("hold on\r")
        yield* sees(includes("working"))
        yield* type("\x03")
        yield* sees(includes("■ stopped: the user pressed Ctrl-C"))
        yield* sees(includes("Ctrl-C again quits"))
        assert.deepStrictEqual(yield* turnEnds, ["aborted"])
        yield* type("\x03")
        yield* left
      }),
      stuck
    )
  )

  it.live("says what Ctrl-C does when the agent rests, and forgets it after a while", () =>
    chatting(
      Effect.gen(function* () {
        const { chat, sees, type } = yield* open
        yield* type("half\x03")
        yield* sees(includes("Ctrl-C again quits"))
        yield* sees((text) => text.includes("/help") && !text.includes("half"))
        assert.strictEqual((yield* Fiber.poll(chat))._tag, "None")
      })
    )
  )

  it.live("runs commands, and says so when there is none of that name", () =>
    chatting(
      Effect.gen(function* () {
        const { sees, type } = yield* open
        yield* type("/todo\r/nope\r")
        yield* sees(includes("There is no todo list."))
        yield* sees(includes("there is no command /nope"))
      })
    )
  )

  it.live("recalls what was entered before", () =>
    chatting(
      Effect.gen(function* () {
        const { sees, type } = yield* open
        yield* type("hello\r")
        yield* sees(includes("Done."))
        yield* type("\x1b[A\x1b[H>")
        yield* sees(includes("› >hello"))
      })
    )
  )

  it.live("is left when the terminal goes away, and by Ctrl-D on an empty line", () =>
    Effect.gen(function* () {
      yield* chatting(
        Effect.gen(function* () {
          const { hangUp, left } = yield* open
          yield* hangUp
          yield* left
        })
      )
      yield* chatting(
        Effect.gen(function* () {
          const { left, type } = yield* open
          yield* type("\x04")
          yield* left
        })
      )
    })
  )

  it.live("keeps its rows together when the terminal is resized", () =>
    chatting(
      Effect.gen(function* () {
        const { resize, sees, terminal, type } = yield* open
        yield* type("plan it\r")
        yield* sees((text) => text.includes("Planned.") && text.includes("ready"))
        for (const [columns, rows] of [
          [30, 12],
          [24, 8],
          [60, 20]
        ] as const) {
          yield* resize(columns, rows)
          // The checklist is the mark of a frame: it stands there once.
          yield* sees((text) => count(text, "☑ todo 1") === 1 && count(text, "/help") === 1 && /\n›$/.test(text))
        }
        assert.strictEqual(count(terminal.text().join("\n"), "Planned."), 1)
      })
    )
  )

  it.live("gives the terminal back while it is suspended, and draws anew after", () =>
    chatting(
      Effect.gen(function* () {
        const { sees, suspended, type } = yield* open
        yield* type("\x1a")
        yield* sees(() => suspended() === 1)
        yield* sees(includes("ready"))
      })
    )
  )

  it.live("puts the screen in order when it is interrupted", () =>
    chatting(
      Effect.gen(function* () {
        const { chat, terminal, type, sees } = yield* open
        yield* type("hello\r")
        yield* sees(includes("Done."))
        yield* Fiber.interrupt(chat)
        assert.deepStrictEqual(terminal.text(), ["", "› hello", "Done."])
        assert.isTrue(terminal.cursorShown)
      })
    )
  )

  it.live("shows text as it arrives", () =>
    chatting(
      Effect.gen(function* () {
        const { sees, type } = yield* open
        yield* type("x\r")
        yield* sees((text) => text.includes("one") && !text.includes("three"))
        yield* sees(includes("three"))
      }),
      { deltaDelay: "40 millis", deltaLength: 2 },
      { otherwise: [{ text: "one two three" }] }
    )
  )

  it.live("lets a model write nothing but text", () =>
    chatting(
      Effect.gen(function* () {
        const { sees, type } = yield* open
        yield* type("evil\r")
        // The terminal of this test fails on whatever it does not expect.
        yield* sees(includes("evil text"))
      })
    )
  )

  it.live("says what was not sent, and why", () =>
    Effect.gen(function* () {
      const desk = yield* rig.makeDesk
      const happenings = yield* Display.makeHappenings
      yield* Effect.gen(function* () {
        const agents = yield* Agents
        // Its scope closes before anybody talks to it.
        const agent = yield* Effect.scoped(agents.create({ id }))
        yield* Effect.fork(
          Interactive.run({
            agent,
            title: "t",
            commands: [],
            recalled: Recall.nothing,
            happenings,
            questions: Questions.make(happenings),
            color: false
          }).pipe(Effect.scoped, Effect.provideService(Tty, desk.tty))
        )
        yield* desk.sees(includes("ready"))
        yield* desk.type("hello\r")
        yield* desk.sees(includes('not sent, "hello": the agent of session "s1" is closed'))
      }).pipe(Effect.provide(rig.layer(rig.script)))
    })
  )

  it.live("shows the jobs that run, and the notice of an end with the turn that it opens", () =>
    chatting(
      Effect.gen(function* () {
        const { sees, type } = yield* open
        const jobs = yield* Jobs
        const ends = yield* Deferred.make<void>()
        const spec = Job.make({ kind: "nap", label: "a long nap", owner: id }, () => Deferred.await(ends))
        yield* jobs.start(spec)
        yield* sees((text) => /⧗ nap-1 \d+ s · a long nap/.test(text))
        yield* type("/jobs\r")
        yield* sees(includes("nap-1 [status: running] a long nap"))
        yield* Deferred.succeed(ends, undefined)
        yield* sees((text) => text.includes("» notice: nap-1") && text.includes("Done."))
        yield* sees((text) => !text.includes("⧗"))
      })
    )
  )

  it.live("says what a subagent does, lists it, and lets a person read along until it is told not to", () =>
    chatting(
      Effect.gen(function* () {
        const { sees, terminal, type } = yield* open
        const log = yield* SessionLog
        const jobs = yield* Jobs
        const child = SessionId.make("child")
        const ends = yield* Deferred.make<void>()
        yield* log.create({ id: child, parent: id, delegationDepth: 1 })
        const spec = Job.make({ kind: "subagent", label: "Links", owner: id }, () => Deferred.await(ends))
        const { id: jobId } = yield* jobs.start(spec)
        yield* log.append(id, [SubagentRun.make({ agentId: child, jobId, label: "Links" })])
        yield* log.append(child, [AgentEvents.TurnStart.make({ turn: 1, source: { kind: "agent", sessionId: id } })])
        yield* sees((text) => /⧗ subagent-1 \d+ s · Links · thinks/.test(text))
        yield* type("/agents\r")
        yield* sees(includes("child running as subagent-1, 1 turn, 0 tokens: Links"))
        yield* type("/watch nobody\r")
        yield* sees(includes('which subagent? there is not exactly one that "nobody"'))
        yield* type("/watch subagent-1\r")
        yield* sees(includes("┊ child, Links; /watch off ends this"))
        const call = { callId: "call-1", name: "bash" }
        const run = (command: string) => [
          AgentEvents.ToolCall.make({ ...call, turn: 1, step: 1, input: { command } }),
          AgentEvents.ToolResult.make({ ...call, ok: true, text: "fine" })
        ]
        yield* log.append(child, run("pnpm links"))
        yield* sees(includes("┊ ✓ bash(command: pnpm links) → fine"))
        yield* type("/watch off\r")
        yield* sees(includes("No subagent is followed any more."))
        yield* log.append(child, run("pnpm more"))
        yield* Deferred.succeed(ends, undefined)
        yield* sees((text) => text.includes("» notice: subagent-1") && !text.includes("⧗"))
        assert.notInclude(terminal.text().join("\n"), "pnpm more")
      })
    )
  )

  it.live("asks whether a command may run, shows all of it, and takes an entered letter for the answer", () =>
    chatting(
      Effect.gen(function* () {
        const { agent, questions, sees, terminal, type } = yield* open
        const approval = Approval.layer({ policy: "ask", ask: questions.ask })
        yield* Effect.gen(function* () {
          const { decide } = yield* Approval.Approval
          const asking = (action: string) => Effect.fork(decide({ tool: "bash", action }))
          const shown = (text: string) => Effect.zipRight(sees(includes(text)), sees(includes("may bash run that?")))
          const decided = (fiber: Fiber.RuntimeFiber<Approval.ApprovalDecision>) =>
            Effect.zipLeft(
              Effect.map(Fiber.join(fiber), ({ _tag }) => _tag),
              sees((text) => !text.includes("may bash run that?"))
            )

          const first = yield* asking("git status -s")
          yield* shown("git status -s")
          // What is no answer is a message, as ever.
          yield* type("yes please\r")
          yield* sees(includes("› yes please"))
          yield* type("y\r")
          assert.strictEqual(yield* decided(first), "allowed")

          const second = yield* asking("rm -rf /tmp/x; \x1b[2Jreboot")
          yield* shown("rm -rf /tmp/x; reboot")
          yield* type("a\r")
          yield* sees(includes("› a"))
          yield* type("n\r")
          assert.strictEqual(yield* decided(second), "denied")

          const third = yield* asking("git status")
          yield* sees(includes('a for always "git status"'))
          yield* type("a\r")
          assert.strictEqual(yield* decided(third), "allowed")
          const rows = terminal.text().length
          assert.strictEqual((yield* decide({ tool: "bash", action: "git status --short" }))._tag, "allowed")
          assert.strictEqual(terminal.text().length, rows)

          const fourth = yield* asking("make all")
          yield* shown("make all")
          yield* Fiber.interrupt(fourth)
          yield* sees((text) => !text.includes("may bash run that?"))
          yield* agent.whenIdle
        }).pipe(Effect.provide(approval))
      })
    )
  )

  it.live("shows messages that others send to the agent", () =>
    chatting(
      Effect.gen(function* () {
        const { agent, sees } = yield* open
        yield* agent.followup({ ...user("a note"), source: { kind: "system" } })
        yield* sees((text) => text.includes("» from the system") && text.includes("a note"))
      })
    )
  )
})
