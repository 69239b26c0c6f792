import { user } from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Plain from "@afterturn/cli/chat/Plain"
import * as Recall from "@afterturn/cli/chat/Recall"
import * as SlashCommand from "@afterturn/cli/chat/SlashCommand"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as rig from "./rig.js"

const id = SessionId.make("s1")

/** Talks to a new session; answers how that ended and what was on stdout. */
const talk = (input: Stream.Stream<string>, options?: { readonly reads?: number }) =>
  Effect.gen(function* () {
    const stdout = rig.makeStdout(options)
    const agents = yield* Agents
    const agent = yield* agents.create({ id })
    const commands = [yield* SlashCommand.todo, SlashCommand.quit]
    const ended = yield* Plain.run({ agent, input, commands, recalled: Recall.nothing }).pipe(
      Effect.provide(stdout.layer),
      Effect.either
    )
    return { ended, text: stdout.text(), agent }
  }).pipe(Effect.scoped, Effect.provide(rig.layer(rig.script)))

describe("run", () => {
  it.live("gives each line a turn of its own and prints what happens, in order", () =>
    Effect.gen(function* () {
      const { ended, text } = yield* talk(Stream.make("plan it", "", "hello"))
      assert.strictEqual(ended._tag, "Right")
      assert.strictEqual(
        text,
        [
          "",
          "› plan it",
          "I plan.",
          "  ▸ todo 1",
          "  ☐ todo 2",
          "✓ todo_write(todos: 2 items) → 2 todos: 0 completed, 1 in progress, 1 pending.",
          "  ☑ todo 1",
          "  ▸ todo 2",
          "✓ todo_write(todos: 2 items) → 2 todos: 1 completed, 1 in progress, 0 pending.",
          "Planned.",
          "",
          "› hello",
          "Done.",
          ""
        ].join("\n")
      )
    })
  )

  it.live("runs commands once the agent is quiet", () =>
    Effect.gen(function* () {
      const { text } = yield* talk(Stream.make("plan it", "/todo", "/nope"))
      const after = text.slice(text.indexOf("Planned."))
      assert.strictEqual(
        after,
        "Planned.\n  ☑ todo 1\n  ▸ todo 2\n2 todos: 1 completed, 1 in progress, 0 pending.\n" +
          "there is no command /nope; /help names them, // begins a message with a slash\n"
      )
    })
  )

  it.live("ends by /quit and reads no further", () =>
    Effect.gen(function* () {
      const { text } = yield* talk(Stream.concat(Stream.make("hello", "/quit", "never"), Stream.never))
      assert.strictEqual(text, "\n› hello\nDone.\n")
    })
  )

  it.live("ends when nobody reads any more, and the agent finishes its turn no further than that", () =>
    Effect.gen(function* () {
      const { ended } = yield* talk(Stream.concat(Stream.make("hello", "again"), Stream.never), { reads: 1 })
      assert.strictEqual(ended._tag === "Left" && ended.left._tag, "StdoutClosed")
    })
  )

  it.live("fails when the last turn ended in an error, and not for one before", () =>
    Effect.gen(function* () {
      const last = yield* talk(Stream.make("hello", "fail"))
      assert.include(last.text, "✗ provider_rejected: ")
      assert.strictEqual(last.ended._tag === "Left" && last.ended.left.message.includes("no such model"), true)
      const before = yield* talk(Stream.make("fail", "hello"))
      assert.strictEqual(before.ended._tag, "Right")
    })
  )

  it.live("lets a model write nothing but text", () =>
    Effect.gen(function* () {
      const { text } = yield* talk(Stream.make("evil"))
      assert.strictEqual(text, "\n› evil\nevil text\n")
    })
  )

  it.live("prints what was recalled first, and then what waited", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* agents.create({ id })
          yield* agent.followup(user("hello"))
          yield* agent.whenIdle
          yield* agent.inject(user("and this"))
        })
      )
      const recalled = yield* Recall.recall(id, 3)
      const stdout = rig.makeStdout()
      const agent = yield* agents.resume(id)
      yield* Plain.run({ agent, input: Stream.empty, commands: [], recalled }).pipe(Effect.provide(stdout.layer))
      assert.strictEqual(stdout.text(), "\n› hello\nDone.\n\n› and this\nDone.\n")
    }).pipe(Effect.scoped, Effect.provide(rig.layer(rig.script)))
  )

  it.live("leaves the agent's turn to its scope when it is interrupted", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const stuck = rig.layer(rig.script, {
        onRequest: () => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
      })
      const stdout = rig.makeStdout()
      const talking = Effect.gen(function* () {
        const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
        yield* Plain.run({ agent, input: Stream.make("hello"), commands: [], recalled: Recall.nothing })
      }).pipe(Effect.provide(stdout.layer), Effect.scoped)
      yield* Effect.gen(function* () {
        yield* Effect.raceFirst(talking, Deferred.await(begun))
        const { transcript } = yield* Recall.recall(id, 1)
        const reasons = transcript.lines.map(({ text }) => text)
        assert.include(reasons.join("\n"), "stopped: the agent was disposed")
      }).pipe(Effect.provide(stuck))
    })
  )
})
