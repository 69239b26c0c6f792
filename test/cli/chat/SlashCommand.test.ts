import type { Agent } from "@afterturn/agent/Agent"
import { goalsLayer } from "@afterturn/cli/Compose/Goals"
import * as Row from "@afterturn/cli/chat/Row"
import * as SlashCommand from "@afterturn/cli/chat/SlashCommand"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { Todo } from "@afterturn/todo/Todo"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as rig from "./rig.js"

const id = SessionId.make("s1")

/** A chat that remembers what was printed and whether it was left. */
const makeChat = () => {
  const rows: Array<string> = []
  let left = false
  const chat: SlashCommand.Chat = {
    // Commands here read no more of it.
    agent: { id } as Agent,
    print: (lines) =>
      Effect.sync(() => {
        for (const line of lines) {
          for (const row of Row.rows(line, 100)) rows.push(Row.encode(row, { color: false }))
        }
      }),
    quit: Effect.sync(() => {
      left = true
    })
  }
  return { chat, rows, left: () => left }
}

const broken: SlashCommand.SlashCommand = {
  name: "broken",
  summary: "fails",
  // @effect-diagnostics-next-line globalErrorInEffectFailure:off
  run: (argument) => Effect.fail(new Error(`no ${argument}\x1b[2J`))
}

describe("run", () => {
  it.effect("says so when there is no such command, whatever it is called", () =>
    Effect.gen(function* () {
      const { chat, rows } = makeChat()
      yield* SlashCommand.run([SlashCommand.quit], { name: "nope\x1b[2J", argument: "" }, chat)
      assert.deepStrictEqual(rows, ["there is no command /nope; /help names them, // begins a message with a slash"])
    })
  )

  it.effect("shows why a command failed", () =>
    Effect.gen(function* () {
      const { chat, rows } = makeChat()
      yield* SlashCommand.run([broken], { name: "broken", argument: "luck" }, chat)
      assert.deepStrictEqual(rows, ["/broken: no luck"])
    })
  )

  it.effect("leaves by /quit", () =>
    Effect.gen(function* () {
      const { chat, left } = makeChat()
      yield* SlashCommand.run([SlashCommand.quit], { name: "quit", argument: "" }, chat)
      assert.isTrue(left())
    })
  )
})

describe("help", () => {
  it.effect("names every command, itself as well, and the keys where there are keys", () =>
    Effect.gen(function* () {
      for (const keys of [true, false]) {
        const { chat, rows } = makeChat()
        yield* SlashCommand.help([SlashCommand.quit, broken], { keys }).run("", chat)
        const text = rows.join("\n")
        for (const name of ["/quit", "/broken", "/help"]) assert.include(text, name)
        assert.strictEqual(text.includes("Ctrl-C"), keys)
      }
    })
  )
})

describe("todo", () => {
  it.effect("shows the whole list and its counts, or that there is none", () =>
    Effect.gen(function* () {
      yield* Effect.flatMap(SessionLog, (log) => log.create({ id }))
      const command = yield* SlashCommand.todo
      const before = makeChat()
      yield* command.run("", before.chat)
      assert.deepStrictEqual(before.rows, ["There is no todo list."])
      const todos = Array.from({ length: 40 }, (_, index) => ({ content: `todo ${index}`, status: "pending" as const }))
      yield* Effect.flatMap(Todo, (service) => service.write(id, todos))
      const after = makeChat()
      yield* command.run("", after.chat)
      assert.strictEqual(after.rows.length, 41)
      assert.strictEqual(after.rows[39], "  ☐ todo 39")
      assert.include(after.rows[40], "40 pending")
    }).pipe(Effect.provide(rig.layer(rig.script)))
  )
})

describe("/goal", () => {
  it.effect("shows, sets, edits, pauses, resumes and clears the goal, and says what goes wrong", () =>
    Effect.gen(function* () {
      yield* Effect.flatMap(SessionLog, (log) => log.create({ id }))
      const command = yield* SlashCommand.goal
      const say = (argument: string) => {
        const { chat, rows } = makeChat()
        return Effect.as(SlashCommand.run([command], { name: "goal", argument }, chat), rows)
      }
      assert.deepStrictEqual(yield* say(""), ["There is no goal. /goal TEXT sets one: it goes on by itself."])
      assert.deepStrictEqual(yield* say("pause"), ["/goal: this session has no goal"])
      assert.deepStrictEqual(yield* say("ship it"), [
        "ship it",
        "goal-1 at revision 1: active, 0 of 256 rounds started",
        "can edit, pause, resume, complete, block, clear"
      ])
      assert.include((yield* say("another")).join(), "this session has goal-1 at revision 1 (active)")
      assert.include((yield* say("edit")).join(), "what is the text?")
      assert.strictEqual((yield* say("edit  ship it well"))[0], "ship it well")
      assert.include((yield* say("pause"))[1], "revision 3: paused")
      assert.include((yield* say("resume"))[1], "revision 4: active,")
      assert.deepStrictEqual(yield* say("clear"), ["The goal is cleared."])
    }).pipe(Effect.provide(goalsLayer().pipe(Layer.provideMerge(layerMemory))))
  )
})
