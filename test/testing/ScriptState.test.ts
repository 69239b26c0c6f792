import type { MessageSource } from "@afterturn/agent/AgentMessage"
import type { EventInput, SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as Script from "@afterturn/testing/Script"
import * as ScriptState from "@afterturn/testing/ScriptState"
import * as ScriptStep from "@afterturn/testing/ScriptStep"
import * as Prompt from "@effect/ai/Prompt"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as session from "./session.js"

const route = "scripted:script"
const make = (definition: Script.Definition) => Either.getOrThrow(Script.make(definition))

const fold = (script: Script.Script, events: ReadonlyArray<EventInput>, from = ScriptState.initial) =>
  session.stored(events).reduce(ScriptState.projection(script, route).apply, from)

/** Where the next response stands in the script, after these events. */
const due = (script: Script.Script, ...events: ReadonlyArray<EventInput>): string => {
  const { answer, failures } = ScriptState.next(script, fold(script, events))
  return [...failures.map((failure) => `!${failure.path}`), answer?.path ?? "silence"].join(" ")
}

const opened = (text: string, source?: MessageSource, turn = 1) => [
  session.turnStart(turn, source),
  session.message(text, source)
]
const spoke = session.answer([session.says("x")])
const acted = session.answer([session.calls("bash")])

describe("ScriptState: which rule", () => {
  const script = make({
    rules: [
      { on: "reminder", steps: [{ text: "a" }] },
      { on: "user", match: "^build", steps: [{ text: "b" }] },
      { on: "user", match: "tests?$", repeat: true, steps: [{ text: "c" }] },
      { on: "any", steps: [{ text: "d" }] }
    ],
    otherwise: [{ text: "o" }]
  })

  it("takes the first that fits source and text", () => {
    assert.strictEqual(due(script, ...opened("x", session.reminder)), "rules[0].steps[0]")
    assert.strictEqual(due(script, ...opened("build it")), "rules[1].steps[0]")
    assert.strictEqual(due(script, ...opened("build the tests")), "rules[1].steps[0]")
    assert.strictEqual(due(script, ...opened("run tests")), "rules[2].steps[0]")
    assert.strictEqual(due(script, ...opened("build", session.notice)), "rules[3].steps[0]")
  })

  it("looks at the newest claimed message", () => {
    assert.strictEqual(due(script, ...opened("build"), session.message("x", session.reminder)), "rules[0].steps[0]")
  })

  it("uses a rule up, a repeated one never, and then says otherwise", () => {
    const turn = (n: number, text: string) => [...opened(text, session.user, n), spoke, session.turnEnd(n)]
    assert.strictEqual(due(script, ...turn(1, "build"), ...opened("build", session.user, 2)), "rules[3].steps[0]")
    assert.strictEqual(
      due(script, ...turn(1, "build"), ...turn(2, "build"), ...opened("build", session.user, 3)),
      "otherwise[0]"
    )
    assert.strictEqual(
      due(script, ...turn(1, "test"), ...turn(2, "test"), ...opened("test", session.user, 3)),
      "rules[2].steps[0]"
    )
  })

  it("reads the first 20,000 characters of a message", () => {
    assert.strictEqual(due(script, ...opened(`${"x".repeat(20_000)} tests`)), "rules[3].steps[0]")
    assert.strictEqual(due(script, ...opened(`${"x".repeat(19_994)} tests and more`)), "rules[2].steps[0]")
  })

  it("is silent when there is nothing otherwise", () => {
    assert.strictEqual(due(make({}), ...opened("x")), "silence")
  })
})

describe("ScriptState: within a turn", () => {
  const script = make({
    rules: [
      { match: "first", steps: [{ calls: [{ tool: "bash", input: {} }] }, { text: "b" }] },
      { match: "last", steps: [{ calls: [{ tool: "bash", input: {} }] }] },
      { match: "more", steps: [{ text: "m" }] }
    ],
    otherwise: [{ text: "o" }, { text: "p" }]
  })
  const result = session.returned("bash", {})

  it("goes from step to step", () => {
    assert.strictEqual(due(script, ...opened("first"), acted), "rules[0].steps[1]")
    assert.strictEqual(due(script, ...opened("first"), acted, result), "rules[0].steps[1]")
  })

  it("asks again for an answer that was not stored", () => {
    const asked = [...opened("first"), acted, result, { type: "step/end", data: { turn: 1, step: 1 } }]
    assert.strictEqual(due(script, ...asked), "rules[0].steps[1]")
    assert.strictEqual(due(script, ...asked, { type: "step/start", data: { turn: 1, step: 2 } }), "rules[0].steps[1]")
  })

  it("ends a turn in silence after a last step with calls", () => {
    assert.strictEqual(due(script, ...opened("last"), acted, result), "silence")
    assert.strictEqual(due(script, ...opened("last"), acted, result, session.answer([])), "silence")
  })

  it("finishes a rule before a message that was steered in gets its own", () => {
    const steered = [...opened("first"), acted, session.message("more")]
    assert.strictEqual(due(script, ...steered), "rules[0].steps[1]")
    assert.strictEqual(due(script, ...steered, spoke), "rules[2].steps[0]")
    assert.strictEqual(due(script, ...steered, spoke, spoke), "silence")
  })

  it("says otherwise to a steered message without a rule, from the start each time", () => {
    const steered = [...opened("last"), acted, session.message("hm")]
    assert.strictEqual(due(script, ...steered), "otherwise[0]")
    assert.strictEqual(due(script, ...steered, spoke), "otherwise[1]")
    assert.strictEqual(due(script, ...steered, spoke, spoke), "silence")
    assert.strictEqual(due(script, ...steered, spoke, session.message("hm")), "otherwise[1]")
    assert.strictEqual(
      due(script, ...steered, spoke, session.turnEnd(1), ...opened("hm", session.user, 2)),
      "otherwise[0]"
    )
  })

  it("does not take up in a later turn what an earlier one left of its rule", () => {
    const crashed = [...opened("first"), acted, session.turnEnd(1, { kind: "interrupted" })]
    assert.strictEqual(due(script, ...crashed, ...opened("first", session.user, 2)), "otherwise[0]")
  })

  it("keeps a rule whose turn ended before an answer", () => {
    for (const kind of ["interrupted", "aborted", "error"] as const) {
      const reason =
        kind === "aborted"
          ? { kind, cause: "x" }
          : kind === "error"
            ? { kind, error: { code: "x", message: "x" } }
            : { kind }
      assert.strictEqual(
        due(script, ...opened("first"), session.turnEnd(1, reason), ...opened("first", session.user, 2)),
        "rules[0].steps[0]"
      )
    }
  })

  it("does not count the answers of other models", () => {
    const other = session.answer([session.calls("bash")], { route: "openai:x" })
    assert.strictEqual(due(script, ...opened("first"), other), "rules[0].steps[0]")
    assert.strictEqual(fold(script, [...opened("first"), other, acted]).calls, 2)
  })

  it("knows its script by the file's name", () => {
    const moved = session.answer([session.calls("bash")], { route: "scripted:/elsewhere/script" })
    assert.strictEqual(due(script, ...opened("first"), moved), "rules[0].steps[1]")
    assert.isTrue(ScriptState.isSameScript("scripted:./demo.json", "scripted:C:\\scripts\\demo.json"))
    assert.isFalse(ScriptState.isSameScript("scripted:demo.json", "scripted:demo2.json"))
    assert.isFalse(ScriptState.isSameScript("openai:demo", "scripted:demo"))
  })
})

describe("ScriptState: misbehaviour", () => {
  const error = { kind: "error", error: { code: "provider_rejected", message: "401" } } as const
  const failing = [{ fail: { status: 401 } }, { text: "a" }]

  it("is due before the answer that follows it", () => {
    const script = make({ rules: [{ steps: failing }] })
    assert.strictEqual(due(script, ...opened("x")), "!rules[0].steps[0] rules[0].steps[1]")
    assert.strictEqual(due(script, ...opened("x"), spoke), "silence")
  })

  it("uses its rule up when the turn ends in it, but for a crash", () => {
    const script = make({ rules: [{ steps: failing }, { steps: [ScriptStep.stall()] }, { steps: [{ text: "b" }] }] })
    const failed = [...opened("x"), session.turnEnd(1, error)]
    const stalled = [...failed, ...opened("x", session.user, 2), session.turnEnd(2, { kind: "aborted", cause: "x" })]
    assert.strictEqual(due(script, ...failed, ...opened("x", session.user, 2)), "!rules[1].steps[0] silence")
    assert.strictEqual(due(script, ...stalled, ...opened("x", session.user, 3)), "rules[2].steps[0]")
    assert.strictEqual(
      due(script, ...opened("x"), session.turnEnd(1, { kind: "interrupted" }), ...opened("x", session.user, 2)),
      "!rules[0].steps[0] rules[0].steps[1]"
    )
  })
})

describe("ScriptState: values for templates", () => {
  const script = make({})
  const values = (...events: ReadonlyArray<EventInput>) => {
    const { job, result } = fold(script, events)
    return [result?.value, job?.id]
  }

  it("keeps the newest result, and the error of one that failed", () => {
    assert.deepStrictEqual(values(session.returned("a", 1), session.returned("b", { x: 2 })), [{ x: 2 }, undefined])
    assert.deepStrictEqual(values(session.returned("a", 1), session.refused("b", "denied", "no")), [
      { error: { code: "denied", message: "no" } },
      undefined
    ])
  })

  it("takes the newest job from the log", () => {
    assert.deepStrictEqual(
      values(
        session.jobStart("bash-1"),
        session.jobStart("bash-2"),
        session.returned("job_output", { jobId: "bash-1" })
      ),
      [{ jobId: "bash-1" }, "bash-2"]
    )
  })

  it("takes it from results where the log tells of none", () => {
    assert.deepStrictEqual(values(session.returned("a", { job_id: "x-1" }), session.returned("b", { jobId: "x-2" })), [
      { jobId: "x-2" },
      "x-2"
    ])
    assert.deepStrictEqual(
      values(session.returned("a", { job_id: "x-1" }), session.returned("b", { jobId: 7 }))[1],
      "x-1"
    )
  })
})

describe("ScriptState: the projection", () => {
  const key = (definition: Script.Definition, of = route) => ScriptState.projection(make(definition), of).key

  it("has a key of its own for each shape of a script", () => {
    const base = key({ rules: [{ match: "a", steps: [{ text: "x" }] }] })
    assert.strictEqual(key({ rules: [{ match: "a", steps: [{ text: "another text" }] }] }), base)
    assert.strictEqual(key({ rules: [{ match: "a", steps: [{ text: "x" }] }] }, "scripted:/moved/script"), base)
    const others = [
      key({ rules: [{ match: "b", steps: [{ text: "x" }] }] }),
      key({ rules: [{ match: /a/i, steps: [{ text: "x" }] }] }),
      key({ rules: [{ match: "a", on: "user", steps: [{ text: "x" }] }] }),
      key({ rules: [{ match: "a", repeat: true, steps: [{ text: "x" }] }] }),
      key({ rules: [{ match: "a", steps: [{ text: "x" }, { text: "y" }] }] }),
      key({ rules: [{ match: "a", steps: [{ fail: {} }, { text: "y" }] }] }),
      key({ rules: [{ match: "a", steps: [{ text: "x" }] }] }, "scripted:other")
    ]
    assert.strictEqual(new Set([base, ...others]).size, others.length + 1)
  })

  it("keeps the reference for events that do not concern it", () => {
    const script = make({})
    const state = fold(script, opened("x"))
    assert.strictEqual(fold(script, [{ type: "todo/write", data: { todos: [] } }], state), state)
  })
})

describe("ScriptState: a prompt without a session", () => {
  const script = make({
    rules: [{ match: "build", steps: [{ calls: [{ tool: "bash", input: {} }] }, { text: "b" }] }],
    otherwise: [{ text: "o" }]
  })
  const call = Prompt.toolCallPart({ id: "c", name: "bash", params: {}, providerExecuted: false })
  const result = Prompt.toolResultPart({
    id: "c",
    name: "bash",
    isFailure: false,
    result: { job_id: "bash-3" },
    providerExecuted: false
  })
  const dueIn = (prompt: Prompt.RawInput) => {
    const state = ScriptState.fromPrompt(script, Prompt.make(prompt))
    return [ScriptState.next(script, state).answer?.path, state.calls, state.job?.id]
  }

  it("stands at the last message of the user", () => {
    assert.deepStrictEqual(dueIn("build"), ["rules[0].steps[0]", 0, undefined])
    assert.deepStrictEqual(dueIn("hello"), ["otherwise[0]", 0, undefined])
    assert.deepStrictEqual(dueIn([]), ["otherwise[0]", 0, undefined])
    assert.deepStrictEqual(
      dueIn([
        Prompt.userMessage({ content: [Prompt.textPart({ text: "build" })] }),
        Prompt.assistantMessage({ content: [call] }),
        Prompt.toolMessage({ content: [result] })
      ]),
      ["rules[0].steps[1]", 1, "bash-3"]
    )
  })

  it("takes every last message of the user for the first", () => {
    assert.deepStrictEqual(
      dueIn([
        Prompt.userMessage({ content: [Prompt.textPart({ text: "build" })] }),
        Prompt.assistantMessage({ content: [call] }),
        Prompt.toolMessage({ content: [result] }),
        Prompt.userMessage({ content: [Prompt.textPart({ text: "build" })] })
      ]),
      ["rules[0].steps[0]", 1, "bash-3"]
    )
  })
})

const Snapshot = Schema.parseJson(ScriptState.ScriptState)

const arbitraryStep = FastCheck.oneof(
  { weight: 4, arbitrary: FastCheck.constant({ text: "x" }) },
  { weight: 2, arbitrary: FastCheck.constant({ calls: [{ tool: "bash", input: {} }] }) },
  { weight: 1, arbitrary: FastCheck.constant({ fail: { status: 500 } }) }
)
const arbitraryScript = FastCheck.record({
  rules: FastCheck.array(
    FastCheck.record({
      on: FastCheck.constantFrom("user" as const, "job-notice" as const, "any" as const),
      match: FastCheck.constantFrom("a", "b", "."),
      repeat: FastCheck.boolean(),
      steps: FastCheck.array(arbitraryStep, { minLength: 1, maxLength: 3 })
    }),
    { maxLength: 5 }
  ),
  otherwise: FastCheck.array(arbitraryStep, { maxLength: 2 })
})
const arbitraryEvent: FastCheck.Arbitrary<EventInput> = FastCheck.oneof(
  FastCheck.nat(9).map((turn) => session.turnStart(turn)),
  FastCheck.tuple(FastCheck.constantFrom("a", "b", "c"), FastCheck.constantFrom(session.user, session.notice)).map(
    ([text, source]) => session.message(text, source)
  ),
  FastCheck.constantFrom(spoke, acted, session.answer([], { route: "openai:x" })),
  FastCheck.json().map((value) => session.returned("bash", JSON.parse(value), value)),
  FastCheck.constantFrom("bash-1", "bash-2").map(session.jobStart),
  FastCheck.constantFrom(
    session.turnEnd(1),
    session.turnEnd(1, { kind: "interrupted" }),
    session.turnEnd(1, { kind: "error", error: { code: "x", message: "x" } })
  )
)

describe("ScriptState: any session", () => {
  it.prop(
    "goes on from a snapshot of any prefix as if nothing had happened",
    [arbitraryScript, FastCheck.array(arbitraryEvent, { maxLength: 40 }), FastCheck.nat(40)],
    ([definition, inputs, at]) => {
      const script = make(definition)
      const events = session.stored(inputs)
      const prefix = events.slice(0, at).reduce(ScriptState.projection(script, route).apply, ScriptState.initial)
      const restored = Schema.decodeSync(Snapshot)(Schema.encodeSync(Snapshot)(prefix))
      assert.deepStrictEqual(
        responses(make(definition), events.slice(at), restored),
        responses(script, events).slice(Math.min(at, events.length))
      )
    },
    { fastCheck: { numRuns: 500 } }
  )

  it.prop(
    "gives no step of a rule twice, unless it is repeated",
    [arbitraryScript, FastCheck.array(arbitraryEvent, { maxLength: 60 })],
    ([definition, inputs]) => {
      const script = make(definition)
      const { apply } = ScriptState.projection(script, route)
      const given: Array<string> = []
      let state = ScriptState.initial
      for (const event of session.stored(inputs)) {
        const after = apply(state, event)
        const path = ScriptState.next(script, state).answer?.path
        if (after.answers > state.answers && path !== undefined) given.push(path)
        state = after
      }
      const once = given.filter((path) => {
        const rule = /^rules\[(\d+)\]/.exec(path)?.[1]
        return rule !== undefined && definition.rules[Number(rule)]?.repeat === false
      })
      assert.deepStrictEqual(once, [...new Set(once)])
    },
    { fastCheck: { numRuns: 500 } }
  )
})

/** What would be answered before the first event and after each. */
const responses = (
  script: Script.Script,
  events: ReadonlyArray<SessionEvent>,
  from = ScriptState.initial
): ReadonlyArray<unknown> => {
  const { apply } = ScriptState.projection(script, route)
  const states = [from]
  for (const event of events) states.push(apply(states.at(-1) ?? from, event))
  return states.map((state) => {
    const { answer, failures } = ScriptState.next(script, state)
    return { answer, failures, job: state.job, result: state.result, calls: state.calls }
  })
}
