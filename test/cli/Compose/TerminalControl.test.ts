import { Agents } from "@afterturn/agent/Agents"
import { agentLayer } from "@afterturn/cli/Compose"
import { TerminalControl } from "@afterturn/cli/Compose/TerminalControl"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { Terminals } from "@afterturn/terminal/Terminals"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, workplace } from "../../support/afterturn.js"

const id = SessionId.make("s1")

describe("serveTerminals", () => {
  it.live("lists terminals, shows one, gives it another size and presses keys, for the command and for it alone", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const story = Effect.gen(function* () {
        const mailbox = yield* Mailbox
        const terminals = yield* Terminals
        const agents = yield* Agents
        yield* agents.create({ id })
        const other = yield* agents.create()
        yield* terminals.open(id, { type: "shell", name: "main", cwd: "/tmp" })
        assert.deepStrictEqual((yield* mailbox.send(other.id, TerminalControl, {})).terminals, [])
        const foreign = yield* mailbox.send(other.id, TerminalControl, { terminal: "term-1" })
        assert.strictEqual(foreign.problem?.code, "terminal_not_found")
        const run = (...args: ReadonlyArray<string>) =>
          inProcess(["terminals", "--session", "s1", "--db", place.db, ...args])
        assert.match(
          (yield* run()).stdout,
          /^term-1 \(shell, "main"\) at its prompt, bash, 120x40, opened in \/tmp at /
        )
        yield* terminals.send(id, "term-1", { text: "echo hello", submit: false })
        const shown = yield* run("term-1", "--keys", "enter", "--size", "90x30", "--json")
        const { lines, terminal } = JSON.parse(shown.stdout)
        assert.deepInclude(terminal, { id: "term-1", columns: 90, rows: 30, state: "prompt" })
        assert.include(lines, "hello")
        const missing = yield* run("term-7")
        assert.deepStrictEqual([missing.code, missing.stdout], [1, ""])
        assert.include((yield* run("term-1", "--keys", "hyper")).stderr, '"hyper"')
      })
      const layer = agentLayer({ db: place.db, route: place.scripted[3] ?? "" })
      yield* story.pipe(Effect.scoped, Effect.provide(layer), Effect.provide(NodeContext.layer))
    }).pipe(Effect.scoped)
  )
})
