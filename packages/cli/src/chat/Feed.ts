/**
 * Everything that happens in a session, in order and without holes: what its agent puts out, completed from the log by what tools and
 * others stored.
 *
 * @since 0.1.0
 */
import type { Agent, AgentOutput } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/**
 * @since 0.1.0
 * @category models
 */
export interface Feed {
  /** Done when whatever the session held at the call has been handed on. */
  readonly sync: Effect.Effect<void, ReadError>
  /** Fails when the session cannot be read; else it runs until the scope closes. */
  readonly join: Effect.Effect<void, ReadError>
}

type Item = AgentOutput | { readonly _tag: "Sync"; readonly done: Deferred.Deferred<void> }

/** What is on its way to a reader who is slow; what is more stays with the agent, which keeps the newest. */
const capacity = 1024

/**
 * Hands on what happens from `fromSeq` on, one thing at a time. Each event comes once and in order. Text of a step comes before the
 * step's message; some of it may be missing, never of another step or late.
 *
 * @since 0.1.0
 * @category running
 */
export const follow = (
  agent: Agent,
  fromSeq: number,
  hand: (item: AgentOutput) => Effect.Effect<void>
): Effect.Effect<Feed, never, SessionLog | Scope.Scope> =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const items = yield* Queue.bounded<Item>(capacity)
    yield* Effect.forkScoped(Stream.runForEach(agent.output, (item) => Queue.offer(items, item)))
    const reader = new Reader(agent, log, fromSeq, hand)
    const running = yield* Effect.forkScoped(
      Effect.forever(Effect.flatMap(Queue.take(items), (item) => reader.read(item)))
    )
    const join = Effect.asVoid(Fiber.join(running))
    return {
      sync: Effect.flatMap(Deferred.make<void>(), (done) =>
        Effect.raceFirst(Effect.zipRight(Queue.offer(items, { _tag: "Sync", done }), Deferred.await(done)), join)
      ),
      join
    }
  })

/** Used by one fiber at a time. */
class Reader {
  private readonly agent: Agent
  private readonly log: Context.Tag.Service<SessionLog>
  private readonly hand: (item: AgentOutput) => Effect.Effect<void>
  private next: number
  /** The last step whose message was handed on, and the turn that it belongs to. */
  private done = { turn: 0, step: 0 }

  constructor(
    agent: Agent,
    log: Context.Tag.Service<SessionLog>,
    fromSeq: number,
    hand: (item: AgentOutput) => Effect.Effect<void>
  ) {
    this.agent = agent
    this.log = log
    this.next = fromSeq
    this.hand = hand
  }

  read(item: Item): Effect.Effect<void, ReadError> {
    switch (item._tag) {
      case "Sync":
        return Effect.zipRight(this.catchUp(undefined), Deferred.succeed(item.done, undefined))
      case "Event": {
        const { event } = item
        if (event.seq < this.next) return Effect.void
        const missing = event.seq > this.next ? this.catchUp(event.seq - 1) : Effect.void
        return Effect.zipRight(missing, this.event(event))
      }
      default:
        return this.isLate(item) ? Effect.void : this.hand(item)
    }
  }

  private catchUp(toSeq: number | undefined): Effect.Effect<void, ReadError> {
    return Effect.suspend(() =>
      Stream.runForEach(
        this.log.read(this.agent.id, { fromSeq: this.next, ...(toSeq === undefined ? {} : { toSeq }) }),
        (event) => this.event(event)
      )
    )
  }

  private event(event: SessionEvent): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.next = event.seq + 1
      this.noteDone(event)
      return this.hand({ _tag: "Event", event })
    })
  }

  private noteDone(event: SessionEvent): void {
    if (event.type === AgentEvents.AssistantMessage.type) {
      const { step, turn } = Either.getOrElse(AgentEvents.AssistantMessage.decode(event), () => this.done)
      this.done = { turn, step }
    } else if (event.type === AgentEvents.TurnEnd.type) {
      const { turn } = Either.getOrElse(AgentEvents.TurnEnd.decode(event), () => this.done)
      this.done = { turn, step: Number.POSITIVE_INFINITY }
    }
  }

  private isLate({ step, turn }: { readonly turn: number; readonly step: number }): boolean {
    return turn < this.done.turn || (turn === this.done.turn && step <= this.done.step)
  }
}
