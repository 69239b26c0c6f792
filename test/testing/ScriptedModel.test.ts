import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { AgentModel } from "@afterturn/agent/AgentModel"
import { Agents } from "@afterturn/agent/Agents"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Host from "@afterturn/session-log/Host"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as MemoryStore from "@afterturn/session-log/SessionStore/Memory"
import type * as Script from "@afterturn/testing/Script"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as ScriptStep from "@afterturn/testing/ScriptStep"
import * as Transcript from "@afterturn/testing/Transcript"
import * as Prompt from "@effect/ai/Prompt"
import { SystemError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { answering, handled, outside, partsOf, textOf, toolkit } from "./model.js"

describe("ScriptedModel: one answer", () => {
  it.effect("streams text and calls as a provider does", () =>
    Effect.gen(function* () {
      const { parts } = yield* partsOf("go")
      assert.deepStrictEqual(parts, [
        { type: "text-start", id: "text" },
        { type: "text-delta", id: "text", delta: "Looking " },
        { type: "text-delta", id: "text", delta: "up." },
        { type: "text-end", id: "text" },
        { type: "tool-params-start", id: "call-1", name: "look" },
        { type: "tool-params-delta", id: "call-1", delta: '{"at":"x' },
        { type: "tool-params-delta", id: "call-1", delta: '"}' },
        { type: "tool-params-end", id: "call-1" },
        { type: "tool-call", id: "call-1", name: "look", params: { at: "x" } },
        { type: "tool-params-start", id: "call-2", name: "look" },
        { type: "tool-params-delta", id: "call-2", delta: '{"at":"y' },
        { type: "tool-params-delta", id: "call-2", delta: '"}' },
        { type: "tool-params-end", id: "call-2" },
        { type: "tool-call", id: "call-2", name: "look", params: { at: "y" } },
        { type: "finish", reason: "tool-calls", usage: { inputTokens: 1, outputTokens: 8, totalTokens: 9 } }
      ])
    }).pipe(
      Effect.provide(
        outside(
          {
            otherwise: [
              {
                text: "Looking up.",
                calls: [
                  { tool: "look", input: { at: "x" } },
                  { tool: "look", input: { at: "y" } }
                ]
              }
            ]
          },
          { deltaLength: 8 }
        )
      )
    )
  )

  it.effect("never cuts a character in two", () =>
    Effect.gen(function* () {
      const { parts } = yield* partsOf("go")
      const deltas = parts.flatMap((part) => ("delta" in part ? [part.delta] : []))
      assert.deepStrictEqual(deltas, ["a", "👍", "👍", "b"])
    }).pipe(Effect.provide(outside({ otherwise: [{ text: "a👍👍b" }] }, { deltaLength: 1 })))
  )

  it.effect("gives whole texts and objects as well", () =>
    Effect.gen(function* () {
      const { model, route } = yield* AgentModel
      const whole = yield* model.generateText({ prompt: "text", toolkit: yield* handled })
      assert.strictEqual(whole.text, "Looking.")
      assert.deepStrictEqual(
        whole.toolResults.map((result) => result.result),
        [{ at: "x", count: 1 }]
      )
      assert.strictEqual(whole.finishReason, "tool-calls")
      const object = yield* model.generateObject({ prompt: "object", schema: Schema.Struct({ ok: Schema.Boolean }) })
      assert.deepStrictEqual(object.value, { ok: true })
      assert.strictEqual(route, "scripted:demo")
    }).pipe(
      Effect.provide(
        outside(
          {
            rules: [
              { match: "text", steps: [{ text: "Looking.", calls: [{ tool: "look", input: { at: "x" } }] }] },
              { match: "object", steps: [{ text: '{"ok":true}' }] }
            ]
          },
          { name: "demo" }
        )
      )
    )
  )

  it.effect("waits before each delta on the Clock", () =>
    Effect.gen(function* () {
      const { model } = yield* AgentModel
      const seen: Array<string> = []
      const fiber = yield* model.streamText({ prompt: "go" }).pipe(
        Stream.runForEach((part) => Effect.sync(() => void (part.type === "text-delta" && seen.push(part.delta)))),
        Effect.fork
      )
      yield* TestClock.adjust("99 millis")
      assert.deepStrictEqual(seen, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(seen, ["abcd"])
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["abcd", "efgh", "ij"])
    }).pipe(
      Effect.provide(outside({ otherwise: [{ text: "abcdefghij" }] }, { deltaLength: 4, deltaDelay: "100 millis" }))
    )
  )

  it.effect("takes a loop of calls for one turn", () =>
    Effect.gen(function* () {
      const { model } = yield* AgentModel
      const tools = yield* handled
      const first = yield* model.generateText({ prompt: "go", toolkit: tools })
      const prompt = Prompt.merge(Prompt.make("go"), Prompt.fromResponseParts(first.content))
      const second = yield* model.generateText({ prompt, toolkit: tools })
      assert.strictEqual(second.text, "There are 1 at x.")
    }).pipe(
      Effect.provide(
        answering(
          { calls: [{ tool: "look", input: { at: "x" } }] },
          { text: "There are {{result.count}} at {{result.at}}." }
        )
      )
    )
  )

  it.effect("refuses a template that nothing fills, naming it", () =>
    Effect.gen(function* () {
      const { failure } = yield* partsOf("go")
      assert.strictEqual(failure?._tag, "UnknownError")
      assert.match(
        failure?.message ?? "",
        /otherwise\[0\]\.calls\[0\]\.input\.at: \{\{result\.id\}\}: no tool has returned anything in this session/
      )
    }).pipe(Effect.provide(answering({ calls: [{ tool: "look", input: { at: "{{result.id}}" } }] })))
  )

  it.effect("delivers the text before a call that is refused", () =>
    Effect.gen(function* () {
      const { failure, parts } = yield* partsOf("go")
      assert.strictEqual(textOf(parts), "Let me see.{}")
      assert.strictEqual(failure?._tag, "MalformedOutput")
    }).pipe(Effect.provide(answering({ text: "Let me see.", calls: [{ tool: "unknown", input: {} }] })))
  )

  it.effect("shows each request to an observer, failing ones as well", () => {
    const seen: Array<number> = []
    return Effect.gen(function* () {
      yield* partsOf("one")
      yield* partsOf([
        { role: "system", content: "x" },
        { role: "user", content: "two" }
      ])
      assert.deepStrictEqual(seen, [1, 2])
    }).pipe(
      Effect.provide(
        outside(
          { otherwise: [{ fail: {} }, { text: "x" }] },
          { onRequest: ({ prompt }) => Effect.sync(() => void seen.push(prompt.content.length)) }
        )
      )
    )
  })
})

describe("ScriptedModel: files", () => {
  const files = (content: Record<string, string>) =>
    FileSystem.layerNoop({
      readFileString: (path) => {
        const text = content[path]
        return text === undefined
          ? Effect.fail(
              new SystemError({
                reason: "NotFound",
                module: "FileSystem",
                method: "readFileString",
                pathOrDescriptor: path
              })
            )
          : Effect.succeed(text)
      }
    })

  const load = (path: string, content: Record<string, string>) =>
    Effect.map(AgentModel, ({ route }) => route).pipe(
      Effect.provide(ScriptedModel.layerFile(path)),
      Effect.provide(Layer.merge(SessionLog.layerMemory, files(content)))
    )

  it.effect("are read when the layer is built, and name the route", () =>
    Effect.gen(function* () {
      const route = yield* load("demo.json", { "demo.json": '{ "otherwise": [{ "text": "x" }] }' })
      assert.strictEqual(route, "scripted:demo.json")
    })
  )

  it.effect("that are missing are a typed error with their path", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(load("none.json", {}))
      assert.strictEqual(error._tag, "ScriptUnreadable")
      assert.match(error.message, /^the script none\.json cannot be read: .*NotFound/)
    })
  )

  it.effect("that are no script are a typed error with their path", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(load("demo.json", { "demo.json": '{ "otherwise": [{ "calls": 1 }] }' }))
      assert.strictEqual(error._tag, "InvalidScript")
      assert.match(error.message, /^the script demo\.json is invalid: otherwise\[0\]\.calls: /)
    })
  )
})

const sessionId = SessionId.make("s1")

/** A process with its agents on a store that others share. */
const running = (definition: Script.Definition, options?: ScriptedModel.ScriptedModelOptions) =>
  ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
    Layer.provide(toolkit.toLayer({ look: ({ at }) => Effect.succeed({ at, count: at.length }) })),
    Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "UTC" })),
    Layer.provideMerge(ScriptedModel.layer(definition, options)),
    Layer.provideMerge(SessionLog.layer({ pollInterval: Duration.infinity, leaseTtl: Duration.infinity })),
    Layer.provideMerge(EventTypes.layer),
    Layer.provide(Host.layer({ host: "test", bootId: "", pid: 0, startedAt: "" }))
  )

const transcript = (id: SessionId, options?: Transcript.TranscriptOptions) =>
  Effect.flatMap(SessionLog.SessionLog, (log) => Stream.runCollect(log.read(id))).pipe(
    Effect.map((events) => Transcript.render(Chunk.toReadonlyArray(events), options))
  )

const say = (agent: Effect.Effect.Success<ReturnType<typeof createAgent>>, text: string) =>
  Effect.zipRight(agent.followup(AgentMessage.user(text)), agent.whenIdle)

const createAgent = (id = sessionId) => Effect.flatMap(Agents, (agents) => agents.create({ id }))
const resumeAgent = (id = sessionId) => Effect.flatMap(Agents, (agents) => agents.resume(id))

describe("ScriptedModel: in an agent", () => {
  const script: Script.Definition = {
    rules: [
      {
        match: "^count",
        steps: [
          { text: "Looking.", calls: [{ tool: "look", input: { at: "home" } }] },
          { text: "{{result.count}} letters." }
        ]
      },
      { on: "job-notice", repeat: true, steps: [{ text: "Noted." }] },
      { match: "again", steps: [{ calls: [{ tool: "look", input: { at: "{{result.at}}, again" } }] }] }
    ],
    otherwise: [{ text: "Nothing left to do." }]
  }

  it.scoped("follows its script from turn to turn", () =>
    Effect.gen(function* () {
      const agent = yield* createAgent()
      yield* say(agent, "count")
      yield* agent.followup(AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "bash-1 completed"))
      yield* agent.whenIdle
      yield* say(agent, "again")
      yield* say(agent, "count")
      assert.strictEqual(
        yield* transcript(agent.id),
        `turn 1 (user)
  user: count
  assistant: Looking.
  call look {"at":"home"}
  result look: {"at":"home","count":4}
  assistant: 4 letters.
  end completed
turn 2 (job-notice bash-1)
  job-notice bash-1: bash-1 completed
  assistant: Noted.
  end completed
turn 3 (user)
  user: again
  call look {"at":"home, again"}
  result look: {"at":"home, again","count":11}
  assistant says nothing
  end completed
turn 4 (user)
  user: count
  assistant: Nothing left to do.
  end completed`
      )
    }).pipe(Effect.provide(running(script)), Effect.provide(MemoryStore.layer))
  )

  it.scoped("goes on where a session stands, in another process", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore
      const inProcess = <A, E>(use: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof running>>>) =>
        use.pipe(Effect.provide(running(script)), Effect.provideService(SessionStore, store))
      yield* inProcess(Effect.scoped(Effect.flatMap(createAgent(), (agent) => say(agent, "count"))))
      yield* inProcess(Effect.scoped(Effect.flatMap(resumeAgent(), (agent) => say(agent, "again, count"))))
      const text = yield* inProcess(
        Effect.scoped(Effect.flatMap(resumeAgent(), (agent) => say(agent, "again"))).pipe(
          Effect.zipRight(transcript(sessionId))
        )
      )
      assert.strictEqual(
        text.slice(text.indexOf("turn 2")),
        `turn 2 (user)
  user: again, count
  call look {"at":"home, again"}
  result look: {"at":"home, again","count":11}
  assistant says nothing
  end completed
turn 3 (user)
  user: again
  assistant: Nothing left to do.
  end completed`
      )
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.scoped("answers the same to a request whose answer was not stored", () => {
    const asked = Deferred.unsafeMake<void>(0 as never)
    const script: Script.Definition = { rules: [{ on: "reminder", steps: [{ text: "Good morning." }] }] }
    const reminder = AgentMessage.text(
      { kind: "reminder", occurrences: [{ id: "reminder-1", occurrenceAt: "2026-01-05T09:00:00.000Z" }] },
      "Wake up."
    )
    const hanging = running(script, {
      onRequest: () => Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never)
    })
    return Effect.gen(function* () {
      const store = yield* SessionStore
      yield* Effect.flatMap(createAgent(), (agent) =>
        Effect.zipRight(agent.followup(reminder), Deferred.await(asked))
      ).pipe(Effect.scoped, Effect.provide(hanging), Effect.provideService(SessionStore, store))
      const text = yield* Effect.scoped(Effect.flatMap(resumeAgent(), (agent) => agent.whenIdle)).pipe(
        Effect.zipRight(transcript(sessionId)),
        Effect.provide(running(script)),
        Effect.provideService(SessionStore, store)
      )
      assert.match(text, /\n {2}end aborted/)
      assert.strictEqual(
        text.slice(text.indexOf("turn 2")),
        `turn 2 (reminder)
  reminder: Wake up.
  assistant: Good morning.
  end completed`
      )
    }).pipe(Effect.provide(MemoryStore.layer))
  })

  it.scoped("fails by script within a turn, and the agent asks again", () =>
    Effect.gen(function* () {
      const agent = yield* createAgent()
      const turn = yield* Effect.fork(say(agent, "go"))
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(turn)
      yield* say(agent, "and now?")
      yield* say(agent, "and now?")
      assert.strictEqual(
        yield* transcript(agent.id),
        `turn 1 (user)
  user: go
  assistant: Here I am.
  end completed
turn 2 (user)
  user: and now?
  end error provider_unauthorized: the provider answered 401: it does not take the key
turn 3 (user)
  user: and now?
  assistant: Better.
  end completed`
      )
    }).pipe(
      Effect.provide(
        running({
          rules: [
            { steps: [{ fail: { status: 529 } }, { fail: { status: 429, retryAfter: 60 } }, { text: "Here I am." }] },
            { steps: [{ fail: { status: 401, message: "no key" } }] },
            { steps: [{ text: "Better." }] }
          ]
        })
      ),
      Effect.provide(MemoryStore.layer)
    )
  )

  it.scoped("meets each failure of a turn once", () => {
    const asked: Array<number> = []
    return Effect.gen(function* () {
      const agent = yield* createAgent()
      const turn = yield* Effect.fork(say(agent, "go"))
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(turn)
      assert.match(yield* transcript(agent.id), /assistant: Done\.\n {2}end completed$/)
      assert.strictEqual(asked.length, 4)
    }).pipe(
      Effect.provide(
        running(
          {
            otherwise: [
              { fail: { status: 529 } },
              { calls: [{ tool: "look", input: { at: "x" } }] },
              { fail: { status: 529 } },
              { text: "Done." }
            ]
          },
          { onRequest: ({ prompt }) => Effect.sync(() => void asked.push(prompt.content.length)) }
        )
      ),
      Effect.provide(MemoryStore.layer)
    )
  })

  it.scoped("stalls until the turn is cancelled, and not again", () => {
    const asked = Deferred.unsafeMake<void>(0 as never)
    return Effect.gen(function* () {
      const agent = yield* createAgent()
      yield* agent.followup(AgentMessage.user("go"))
      yield* Deferred.await(asked)
      yield* agent.cancel("enough")
      yield* say(agent, "go")
      assert.match(
        yield* transcript(agent.id),
        /end aborted: enough\nturn 2 \(user\)\n {2}user: go\n {2}assistant: Well\./
      )
    }).pipe(
      Effect.provide(
        running(
          { rules: [{ steps: [ScriptStep.stall("Hm")] }, { steps: [{ text: "Well." }] }] },
          { onRequest: () => Deferred.succeed(asked, undefined) }
        )
      ),
      Effect.provide(MemoryStore.layer)
    )
  })

  it.scoped("stands at a place of its own in each session, and goes on in a fork", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog.SessionLog
      const one = yield* createAgent(SessionId.make("one"))
      const two = yield* createAgent(SessionId.make("two"))
      yield* say(one, "count")
      yield* say(two, "count")
      const fork = yield* log.fork(one.id)
      yield* say(yield* resumeAgent(fork.id), "count")
      yield* say(yield* createAgent(SessionId.make("three")), "again")
      assert.match(yield* transcript(two.id), /4 letters/)
      assert.match(yield* transcript(fork.id), /Nothing left to do\.\n {2}end completed$/)
      assert.match(
        yield* transcript(SessionId.make("three")),
        /end error provider_unavailable: rules\[2\]\.steps\[0\]\.calls\[0\]\.input\.at: \{\{result\.at\}\}: no tool has returned/
      )
    }).pipe(Effect.provide(running(script)), Effect.provide(MemoryStore.layer))
  )

  it.effect.prop(
    "says the same however often the process is replaced",
    [
      FastCheck.array(
        FastCheck.record({ text: FastCheck.constantFrom("a", "b", "c", "d"), replace: FastCheck.boolean() }),
        { minLength: 1, maxLength: 6 }
      )
    ],
    ([turns]) =>
      Effect.gen(function* () {
        const once = yield* conversation([turns.map(({ text }) => text)])
        const processes: Array<Array<string>> = []
        for (const { replace, text } of turns) {
          const last = processes.at(-1)
          if (replace || last === undefined) processes.push([text])
          else last.push(text)
        }
        assert.strictEqual(yield* conversation(processes), once)
      }),
    { fastCheck: { numRuns: 10 } }
  )
})

/** The transcript of a session in which each of these processes had these turns. */
const conversation = (processes: ReadonlyArray<ReadonlyArray<string>>) =>
  Effect.gen(function* () {
    const store = yield* SessionStore
    const script = running({
      rules: [
        { match: "a", steps: [{ calls: [{ tool: "look", input: { at: "x" } }] }, { text: "a{{result.count}}" }] },
        { match: "b", repeat: true, steps: [{ text: "b" }] },
        { match: "a|c", steps: [{ text: "c", calls: [{ tool: "look", input: { at: "{{result}}" } }] }] }
      ],
      otherwise: [{ text: "o" }]
    })
    for (const [index, texts] of processes.entries()) {
      yield* Effect.flatMap(index === 0 ? createAgent() : resumeAgent(), (agent) =>
        Effect.forEach(texts, (text) => say(agent, text), { discard: true })
      ).pipe(Effect.scoped, Effect.provide(script), Effect.provideService(SessionStore, store))
    }
    return yield* transcript(sessionId).pipe(Effect.provide(script), Effect.provideService(SessionStore, store))
  }).pipe(Effect.provide(MemoryStore.layer))
