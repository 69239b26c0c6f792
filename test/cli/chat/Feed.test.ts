import type { Agent, AgentOutput } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { user } from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Feed from "@afterturn/cli/chat/Feed"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as rig from "./rig.js"

const id = SessionId.make("s1")

const turnEnd = AgentEvents.TurnEnd.make({ turn: 1, reason: { kind: "completed" } })
const answer = AgentEvents.AssistantMessage.make({
  id: "m",
  turn: 1,
  step: 1,
  route: "r",
  content: [],
  finishReason: "stop",
  usage: { inputTokens: null, outputTokens: null }
})
const start = (turn: number) => AgentEvents.TurnStart.make({ turn, source: { kind: "user" } })

const delta = (turn: number, step: number): AgentOutput => ({ _tag: "Text", turn, step, delta: `${turn}/${step}` })

const inMemory = Layer.provideMerge(EventTypes.layerRegister(...AgentEvents.all), layerMemory)

/** A session, an agent whose output is the test's to give, and what the feed hands on. */
const follow = (fromSeq: number) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const output = yield* Queue.unbounded<AgentOutput>()
    const handed = yield* Ref.make<ReadonlyArray<string>>([])
    // Only what a feed reads of an agent.
    const agent = { id, output: Stream.fromQueue(output) } as Agent
    const feed = yield* Feed.follow(agent, fromSeq, (item) =>
      Ref.update(handed, (all) => [
        ...all,
        item._tag === "Event" ? `#${item.event.seq}` : "delta" in item ? item.delta : ""
      ])
    )
    return {
      append: (...events: Parameters<typeof log.append>[1]) => Effect.orDie(log.append(id, events)),
      put: (...items: ReadonlyArray<AgentOutput>) => Queue.offerAll(output, items),
      feed,
      handed: Ref.get(handed)
    }
  })

const withSession = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SessionLog, (log) => Effect.zipRight(log.create({ id }), effect)).pipe(Effect.provide(inMemory))

describe("follow", () => {
  it.scoped("completes from the log what the agent did not put out itself, in order and once", () =>
    withSession(
      Effect.gen(function* () {
        const { append, feed, handed, put } = yield* follow(0)
        const [first] = yield* append(start(1))
        yield* append(answer)
        const [third] = yield* append(turnEnd)
        yield* put({ _tag: "Event", event: first! }, { _tag: "Event", event: third! }, { _tag: "Event", event: first! })
        yield* feed.sync
        assert.deepStrictEqual(yield* handed, ["#0", "#1", "#2"])
      })
    )
  )

  it.scoped("begins where it is told to", () =>
    withSession(
      Effect.gen(function* () {
        const log = yield* SessionLog
        yield* log.append(id, [start(1), answer])
        const { append, feed, handed } = yield* follow(2)
        yield* append(turnEnd)
        yield* feed.sync
        assert.deepStrictEqual(yield* handed, ["#2"])
      })
    )
  )

  it.scoped("leaves out text that comes after the message of its step or the end of its turn", () =>
    withSession(
      Effect.gen(function* () {
        const { append, feed, handed, put } = yield* follow(0)
        yield* append(start(1), answer)
        yield* feed.sync
        yield* put(delta(1, 1), delta(1, 2))
        yield* feed.sync
        yield* append(turnEnd)
        yield* feed.sync
        yield* put(delta(1, 3), delta(2, 1))
        yield* feed.sync
        assert.deepStrictEqual(yield* handed, ["#0", "#1", "1/2", "#2", "2/1"])
      })
    )
  )

  it.scoped("fails, and does not hang, when the session cannot be read", () =>
    Effect.gen(function* () {
      const { feed } = yield* follow(0)
      assert.strictEqual((yield* Effect.flip(feed.sync))._tag, "SessionNotFound")
      assert.strictEqual((yield* Effect.flip(feed.join))._tag, "SessionNotFound")
    }).pipe(Effect.provide(inMemory))
  )

  it.scopedLive("has all that an agent and its tools store, with the text before its message", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const log = yield* SessionLog
      const agent = yield* agents.create({ id })
      const items: Array<AgentOutput> = []
      const feed = yield* Feed.follow(agent, 0, (item) => Effect.sync(() => void items.push(item)))
      yield* agent.followup(user("plan"))
      yield* agent.whenIdle
      yield* feed.sync
      const events = items.flatMap((item) => (item._tag === "Event" ? [item.event] : []))
      assert.deepStrictEqual(events, [...(yield* Stream.runCollect(log.read(id)))])
      assert.include(
        events.map(({ type }) => type),
        "todo/write"
      )
    }).pipe(Effect.provide(rig.layer(rig.script)))
  )
})
