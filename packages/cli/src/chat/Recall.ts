/**
 * What a resumed session last said: the end of its log, to be shown before it goes on.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { AgentMessage } from "@afterturn/agent/AgentMessage"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Row from "./Row.js"
import * as Transcript from "./Transcript.js"

/**
 * `transcript` has the last turns and what waits in the inbox; what happens from `nextSeq` on is not in it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Recalled {
  readonly transcript: Transcript.Transcript
  readonly nextSeq: number
}

/**
 * Before the first event of a session.
 *
 * @since 0.1.0
 * @category constants
 */
export const nothing: Recalled = { transcript: Transcript.make(), nextSeq: 0 }

/**
 * Reads the last `turns` turns. To be done before the session's agent comes alive, which appends to it.
 *
 * @since 0.1.0
 * @category reading
 */
export const recall = (id: SessionId, turns: number): Effect.Effect<Recalled, ReadError, SessionLog | Projections> =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const projections = yield* Projections
    const lastSeq = yield* log.lastSeq(id)
    const starts = yield* log.read(id, { toSeq: lastSeq, types: [AgentEvents.TurnStart.type] }).pipe(
      Stream.runFold({ count: 0, last: Chunk.empty<number>() }, ({ count, last }, { seq }) => ({
        count: count + 1,
        last: Chunk.takeRight(Chunk.append(last, seq), turns)
      }))
    )
    const earlier = starts.count - Chunk.size(starts.last)
    const fromSeq = earlier > 0 ? Chunk.unsafeHead(starts.last) : 0
    const events = yield* Stream.runCollect(log.read(id, { fromSeq, toSeq: lastSeq }))
    const { value } = yield* projections.get(id, AgentLog.state)
    const waiting = [...value.nextStep, ...value.nextTurn]
    return { transcript: transcriptOf(earlier, events, waiting), nextSeq: lastSeq + 1 }
  })

const transcriptOf = (
  earlier: number,
  events: Iterable<SessionEvent>,
  waiting: ReadonlyArray<AgentMessage>
): Transcript.Transcript => {
  let transcript = Transcript.make()
  if (earlier > 0) {
    const text = `${earlier} earlier ${earlier === 1 ? "turn" : "turns"}`
    transcript = Transcript.note(transcript, [
      Row.line(`… ${text} (afterturn sessions show has all)`, { style: "dim" })
    ])
  }
  for (const event of events) transcript = Transcript.add(transcript, { _tag: "Event", event })
  // The inbox is known better than from the end of the log.
  return { ...transcript, waiting }
}
