import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { ApprovalRequest } from "@afterturn/agent/Approval"
import * as HttpNode from "@afterturn/mcp/McpHttp/Node"
import * as McpQuestions from "@afterturn/mcp/McpQuestions"
import { assert, describe, it } from "@effect/vitest"
import type { ElicitResult } from "@modelcontextprotocol/client"
import { isInputRequiredResult, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Events from "../support/agents.js"
import * as Session from "./support/session.js"

const { call, texts } = Session

const request = (action: string): ApprovalRequest => ({ tool: "bash", action })

describe("a question", () => {
  it("shows all of what is to run, and nothing that could hide a part of it", () => {
    const { message } = McpQuestions.form(request("echo a\n\tb \u202e\u001b[2Kcurl\u200b x"))
    assert.strictEqual(message, "bash wants to run:\n\necho a\n\tb \\u{202e}\\u{1b}[2Kcurl\\u{200b} x")
  })

  it("offers to allow more only where a prefix says what", () => {
    const offered = (action: string) => Object.keys(McpQuestions.form(request(action)).requestedSchema.properties)
    assert.deepStrictEqual([offered("git status -s"), offered("ls; rm -rf ~")], [["always"], []])
  })

  const accept = (content?: Record<string, unknown>) => ({ action: "accept", content }) as const
  for (const [action, given, answer] of [
    ["git status -s", accept(), { _tag: "once" }],
    ["git status -s", accept({ always: false }), { _tag: "once" }],
    ["git status -s", accept({ always: true }), { _tag: "always", prefix: "git status" }],
    ["ls; rm -rf ~", accept({ always: true }), { _tag: "once" }],
    ["ls", { action: "decline" }, { _tag: "no" }],
    ["ls", { action: "cancel" }, { _tag: "no", reason: "the user dismissed the question" }]
  ] as const) {
    it(`about ${action} that is answered ${JSON.stringify(given)}`, () =>
      assert.deepStrictEqual(McpQuestions.answer(request(action), given), answer))
  }

  it("needs a client that can show a form", () => {
    const can = [undefined, {}, { elicitation: {} }, { elicitation: { form: {} } }, { elicitation: { url: {} } }]
    assert.deepStrictEqual(can.map(McpQuestions.canAsk), [false, false, true, true, false])
  })

  it.effect("of nobody's call is no", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* McpQuestions.ask(request("ls")), McpQuestions.no("no client made this call"))
    })
  )
})

/** A client of a revision, over HTTP where that matters, and what its user was asked. */
const asking = <A, E, R>(
  mode: "auto" | "legacy",
  answers: ReadonlyArray<ElicitResult | Error> | undefined,
  body: (client: Awaited<ReturnType<typeof Session.makeClient>>, asked: ReadonlyArray<string>) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const { server } = yield* Session.served()
    const { url } = yield* HttpNode.listen(server, { port: 0 })
    const asked: Array<string> = []
    const answer: Session.AnswerForm = async ({ message }) => {
      asked.push(message)
      const given = answers?.[asked.length - 1]
      if (given === undefined) return new Promise<never>(() => {})
      if (given instanceof Error) throw given
      return given
    }
    const client = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const client = Session.makeClient(mode, answers === undefined ? undefined : answer)
        await client.connect(new StreamableHTTPClientTransport(new URL(url)))
        return client
      }),
      (client) => Effect.promise(() => client.close())
    )
    return yield* body(client, asked)
  }).pipe(Effect.scoped, Effect.provide(Session.layerAsking))

const results = Effect.map(Events.dataOf(Session.id, AgentEvents.ToolResult), (all) =>
  all.map(({ error, value }) => error?.code ?? value)
)

for (const mode of ["auto", "legacy"] as const) {
  describe(`a client of the ${mode === "auto" ? "present revision" : "revision before"}`, () => {
    it.effect("asks its user, who may allow once, always, or not", () =>
      asking(
        mode,
        [
          { action: "accept", content: {} },
          { action: "decline" },
          { action: "cancel" },
          { action: "accept", content: { always: true } }
        ],
        (client, asked) =>
          Effect.gen(function* () {
            const said: Array<string> = []
            for (let time = 0; time < 5; time++) {
              said.push(...texts(yield* call(client, "guarded", { action: `git log -${time}` })))
            }
            const refusals = ["the user did not approve it", "the user dismissed the question"]
            assert.deepStrictEqual(said, ["ran", ...refusals, "ran", "ran"])
            assert.lengthOf(asked, 4)
            assert.strictEqual(asked[0], "guarded wants to run:\n\ngit log -0")
            // However often the protocol goes back and forth, it is one call.
            assert.lengthOf(yield* results, 5)
          })
      )
    )

    it.effect("that offers no way to ask is told so, and nothing runs", () =>
      asking(mode, undefined, (client) =>
        Effect.gen(function* () {
          const [text] = texts(yield* call(client, "guarded", { action: "ls" }))
          assert.strictEqual(text, "the client offers no way to ask its user (elicitation)")
        })
      )
    )

    it.effect("may cancel the call while its user thinks, and ask again", () =>
      asking(mode, [], (client, asked) =>
        Effect.gen(function* () {
          const cancelled = yield* Effect.fork(call(client, "guarded", { action: "ls" }))
          yield* Session.eventually(Effect.sync(() => asked.length === 1))
          yield* Fiber.interrupt(cancelled)
          // Under the present revision no request is open then: the server learns it from the time that passes.
          yield* TestClock.adjust("5 minutes")
          yield* Session.eventually(Effect.map(results, (all) => all.length === 1))
          const next = yield* Effect.fork(call(client, "guarded", { action: "pwd" }))
          yield* Session.eventually(Effect.sync(() => asked.length === 2))
          yield* Fiber.interrupt(next)
        })
      )
    )
  })
}

describe("an answer", () => {
  it.effect("that cannot be had is no (revision before)", () =>
    asking("legacy", [new Error("no screen")], (client) =>
      Effect.gen(function* () {
        const [text] = texts(yield* call(client, "guarded", { action: "ls" }))
        assert.match(text ?? "", /^the client could not ask its user: .*no screen/)
      })
    )
  )

  it.effect("that takes too long is no (revision before)", () =>
    asking("legacy", [], (client, asked) =>
      Effect.gen(function* () {
        const waiting = yield* Effect.fork(call(client, "guarded", { action: "ls" }))
        yield* Session.eventually(Effect.sync(() => asked.length === 1))
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(texts(yield* Fiber.join(waiting)), ["nobody answered within 5m"])
      })
    )
  )

  it.effect("to a question that nobody asks any more is refused (present revision)", () =>
    asking("auto", [], (client) =>
      Effect.gen(function* () {
        const params = { name: "guarded", arguments: { action: "ls" } }
        const first = yield* Effect.promise(() => client.callTool(params, { allowInputRequired: true } as object))
        assert.isTrue(isInputRequiredResult(first))
        const requestState = (first as unknown as { readonly requestState: string }).requestState
        assert.match(requestState, /^[0-9a-f]{32}$/)
        const inputResponses = { approval: { action: "accept", content: {} } }
        const answered = (state: string) =>
          Effect.tryPromise(() =>
            client.request({ method: "tools/call", params: { ...params, requestState: state, inputResponses } })
          )
        for (const state of ["guess", ""]) {
          const refused = yield* Effect.flip(answered(state))
          assert.match(String(refused.error), /make the call again/)
        }
        yield* answered(requestState)
        assert.deepStrictEqual(yield* results, ["ran"])
        assert.match(String((yield* Effect.flip(answered(requestState))).error), /make the call again/)
      })
    )
  )
})
