/**
 * The subagents of an agent as a chat shows them: what each does, in a line, and, for who wants to read along, all that one says and does.
 *
 * @since 0.1.0
 */
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as SubagentLog from "@afterturn/subagent/SubagentLog"
import type { AgentNode } from "@afterturn/subagent/SubagentTree"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Stream from "effect/Stream"
import * as Recall from "./Recall.js"
import * as Row from "./Row.js"
import * as SafeText from "./SafeText.js"
import * as Transcript from "./Transcript.js"

/**
 * Hands on what each child of a session does, by the job as which it works, now and whenever that changes. Runs until it is interrupted.
 *
 * @since 0.1.0
 * @category running
 */
export const follow = (
  parent: SessionId,
  hand: (job: string, doing: string) => Effect.Effect<void>
): Effect.Effect<void, ReadError, Projections | SessionLog> =>
  Effect.scoped(
    Effect.gen(function* () {
      const projections = yield* Projections
      const followers = yield* FiberMap.make<string>()
      yield* Stream.runForEach(projections.changes(parent, SubagentLog.children), ({ value: { open } }) =>
        Effect.gen(function* () {
          for (const [job] of followers) if (!Object.hasOwn(open, job)) yield* FiberMap.remove(followers, job)
          for (const [job, child] of Object.entries(open)) {
            yield* FiberMap.run(
              followers,
              job,
              followOne(child, (doing) => hand(job, doing)),
              { onlyIfMissing: true }
            )
          }
        })
      )
    })
  )

/** How far back calls are looked for that still run. */
const recentEvents = 500

const followOne = (child: SessionId, hand: (doing: string) => Effect.Effect<void>) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const fromSeq = Math.max(0, (yield* log.lastSeq(child)) - recentEvents)
    yield* log.changes(child, { fromSeq }).pipe(
      Stream.scan(
        Transcript.make(),
        (state, event) => Transcript.take(Transcript.add(state, { _tag: "Event", event }))[1]
      ),
      Stream.map(doingText),
      Stream.changes,
      Stream.runForEach(hand)
    )
  }).pipe(
    // Of a session that cannot be read there is nothing to show; its job is shown all the same.
    Effect.catchAll((error) => Effect.logDebug(`what agent "${child}" does is not shown`, error))
  )

const doingText = ({ running, turn }: Transcript.Transcript): string => {
  const [call, ...more] = running
  if (call === undefined) return turn === undefined ? "" : "thinks"
  return `${Transcript.callText(call)}${more.length === 0 ? "" : ` and ${more.length} more`}`
}

/**
 * All that an agent says and does, from its last turn on, in lines that tell it from the conversation. Each message comes when it is
 * complete. Runs until it is interrupted, also beyond the end of the agent's job: it may be continued.
 *
 * @since 0.1.0
 * @category running
 */
export const watch = (
  id: SessionId,
  print: (lines: ReadonlyArray<Row.Line>) => Effect.Effect<void>
): Effect.Effect<void, ReadError, Projections | SessionLog> =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const { nextSeq, transcript } = yield* Recall.recall(id, 1)
    let state = transcript
    const tell = Effect.suspend(() => {
      const [lines, rest] = Transcript.take(state)
      state = rest
      return lines.length === 0 ? Effect.void : print(lines.map(aside))
    })
    yield* tell
    yield* Stream.runForEach(log.changes(id, { fromSeq: nextSeq }), (event) => {
      state = Transcript.add(state, { _tag: "Event", event })
      return tell
    })
  })

const rail = "┊ "

const aside = (line: Row.Line): Row.Line => ({
  ...line,
  label: Row.span(`${rail}${line.label.text}`, line.label.style === "plain" ? "dim" : line.label.style),
  indent: line.indent + rail.length
})

/**
 * The agent that a person means, of those below a session: by its id, the beginning of that, or the job as which it works or last
 * worked. `undefined` when there is none or more than one.
 *
 * @since 0.1.0
 * @category parsing
 */
export const find = (agents: ReadonlyArray<AgentNode>, named: string): AgentNode | undefined => {
  const exact = agents.find(({ id }) => id === named)
  if (exact !== undefined || named === "") return exact
  const meant = agents.filter(({ depth, id, job }) => id.startsWith(named) || (depth === 1 && job.id === named))
  return meant.length === 1 ? meant[0] : undefined
}

/**
 * The agents below a session, one a line, each under the one that started it.
 *
 * @since 0.1.0
 * @category rendering
 */
export const lines = (agents: ReadonlyArray<AgentNode>): ReadonlyArray<Row.Line> =>
  agents.map(({ depth, id, job, label, status, totalTokens, turns }) => {
    const how = status === "running" ? "running" : job.status
    const tokens = totalTokens.inputTokens + totalTokens.outputTokens
    const text = `${how} as ${job.id}, ${turns} ${turns === 1 ? "turn" : "turns"}, ${tokens} tokens: ${label}`
    return Row.line(SafeText.cleanLine(text), {
      label: Row.span(`${"  ".repeat(depth)}${id} `, "accent"),
      style: "dim"
    })
  })
