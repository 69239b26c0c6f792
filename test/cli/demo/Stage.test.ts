import { user } from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import { Tty } from "@afterturn/cli/chat/Tty"
import * as Stage from "@afterturn/cli/demo/Stage"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as rig from "../chat/rig.js"

const includes = (part: string) => (text: string) => text.includes(part)

/** Says something, has an agent work, and says something more. */
const story = (stage: Stage.Stage) =>
  Effect.gen(function* () {
    yield* stage.say("once\nupon a time\x1b[2J")
    const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
    const feed = yield* Stage.watch(stage, agent, 0)
    yield* agent.followup(user("plan it"))
    yield* Stage.quiet(stage, agent, feed)
    yield* stage.say("the end")
    return "told"
  }).pipe(Effect.scoped)

const told = [
  "",
  "▌ once",
  "  upon a time",
  "",
  "› plan it",
  "I plan.",
  "✓ todo_write(todos: 2 items) → 2 todos: 0 completed, 1 in …",
  "✓ todo_write(todos: 2 items) → 2 todos: 1 completed, 1 in …",
  "Planned.",
  "",
  "▌ the end"
]

describe("atTerminal", () => {
  it.live("leaves the whole story on the terminal, and nothing below it", () =>
    Effect.gen(function* () {
      const desk = yield* rig.makeDesk
      const stdout = rig.makeStdout()
      const answer = yield* Stage.atTerminal("a title", story).pipe(
        Effect.provideService(Tty, desk.tty),
        Effect.provide(stdout.layer),
        Effect.provide(rig.layer(rig.script))
      )
      assert.strictEqual(answer, "told")
      assert.deepStrictEqual(desk.terminal.text(), told)
      assert.isTrue(desk.terminal.cursorShown)
    })
  )

  it.live("ends by Ctrl-C, with the screen in order", () =>
    Effect.gen(function* () {
      const desk = yield* rig.makeDesk
      const endless = (stage: Stage.Stage) => Effect.zipRight(stage.say("once"), Effect.never)
      const playing = yield* Effect.fork(
        Stage.atTerminal("a title", endless).pipe(
          Effect.provideService(Tty, desk.tty),
          Effect.provide(rig.makeStdout().layer)
        )
      )
      yield* desk.sees((text) => text.includes("▌ once") && text.includes("a title"))
      yield* desk.type("x\x03")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(playing)))
      assert.deepStrictEqual(desk.terminal.text(), ["", "▌ once"])
    })
  )

  it.live("shows the checklist while there is one", () =>
    Effect.gen(function* () {
      const desk = yield* rig.makeDesk
      const slow = (stage: Stage.Stage) => Effect.zipRight(story(stage), Effect.never).pipe(Effect.scoped)
      yield* Effect.fork(
        Stage.atTerminal("a title", slow).pipe(
          Effect.provideService(Tty, desk.tty),
          Effect.provide(rig.makeStdout().layer),
          Effect.provide(rig.layer(rig.script, { deltaDelay: "5 millis" }))
        )
      )
      yield* desk.sees(includes("▸ todo 1"))
      yield* desk.sees((text) => text.includes("☑ todo 1") && text.includes("▸ todo 2"))
    }).pipe(Effect.scoped)
  )
})

describe("plainly", () => {
  it.live("prints the story, each list with it", () =>
    Effect.gen(function* () {
      const stdout = rig.makeStdout()
      yield* Stage.plainly(story).pipe(Effect.provide(stdout.layer), Effect.provide(rig.layer(rig.script)))
      const text = stdout.text()
      assert.match(text, /^\n▌ once\n {2}upon a time\n\n› plan it\n/)
      assert.include(text, "  ☑ todo 1\n  ▸ todo 2\n")
      assert.match(text, /Planned\.\n\n▌ the end\n$/)
    })
  )

  it.effect("takes no time of its own", () =>
    Effect.gen(function* () {
      const before = yield* Clock.currentTimeMillis
      yield* Stage.plainly((stage) => stage.pause("1 hour")).pipe(Effect.provide(rig.makeStdout().layer))
      assert.strictEqual(yield* Clock.currentTimeMillis, before)
    })
  )

  it.effect("ends when nobody reads any more", () =>
    Effect.gen(function* () {
      const stdout = rig.makeStdout({ reads: 0 })
      const playing = Stage.plainly((stage) => Effect.zipRight(stage.say("once"), Effect.never))
      assert.strictEqual((yield* Effect.flip(Effect.provide(playing, stdout.layer)))._tag, "StdoutClosed")
    })
  )
})

describe("pause", () => {
  it.effect("is on the clock where somebody watches", () =>
    Effect.gen(function* () {
      const desk = yield* rig.makeDesk
      const playing = yield* Effect.fork(
        Stage.atTerminal("t", (stage) => stage.pause("1 hour")).pipe(
          Effect.provideService(Tty, desk.tty),
          Effect.provide(rig.makeStdout().layer)
        )
      )
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual((yield* Fiber.poll(playing))._tag, "None")
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(playing)
    })
  )
})
