import type { AppendError } from "@afterturn/session-log/SessionLog"
import { SessionLogCorrupt } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Agent } from "../Agent.js"
import * as AgentEvents from "../AgentEvents.js"
import { dataOf } from "../AgentLog.js"
import type { Compaction } from "../Compaction.js"
import * as HistoryModule from "../History.js"
import type { ModelError } from "../ModelError.js"
import type { Live, Runtime } from "./live.js"
import { commit } from "./live.js"

type Cuttable = Live<Runtime & { readonly compaction: Context.Tag.Service<Compaction> | undefined }>

/**
 * Reads the history from the log: from the newest summary on, with the older messages that it kept. The log hands out events whose
 * data it has not compared with their types: that is done here, once. From there on all events are read, for only then does the log
 * see a gap: a model is not asked on a history that has lost something.
 */
export const loadHistory = Effect.fnUntraced(function* (live: Cuttable) {
  const { log, types } = live.runtime
  const { compacted } = live
  const history = new HistoryModule.History()
  const add = (event: Parameters<HistoryModule.History["add"]>[0]) => {
    const problem = HistoryModule.types.includes(event.type) ? types.get(event.type)?.problem(event.data) : undefined
    return problem === undefined
      ? Effect.sync(() => history.add(event))
      : new SessionLogCorrupt({ sessionId: live.id, seq: event.seq, reason: `event "${event.type}": ${problem}` })
  }
  if (compacted !== null && compacted.kept.length > 0) {
    const kept = new Set(compacted.kept)
    const older = log.read(live.id, { toSeq: compacted.throughSeq, types: [AgentEvents.UserMessage.type] })
    yield* Stream.runForEach(older, (event) =>
      kept.has(dataOf(AgentEvents.UserMessage, event).id) ? add(event) : Effect.void
    )
  }
  const fromSeq = compacted === null ? 0 : compacted.throughSeq + 1
  // An earlier summary that stands among what was kept is part of what the newest one replaced.
  const isReplaced = (event: { readonly type: string; readonly seq: number }) =>
    event.type === AgentEvents.ContextCompacted.type && event.seq !== compacted?.seq
  yield* Stream.runForEach(log.read(live.id, { fromSeq }), (event) => (isReplaced(event) ? Effect.void : add(event)))
  live.history = history
  return history
})

/** Share of the limit that the newest messages may have after a cut. */
const keptShare = 1 / 4

/**
 * At a turn's start. What the turn claimed is never summarized away: it is what the turn is about. A summary that can't be made is
 * no reason to end the turn: whether the history is too long is the provider's word.
 */
export const compactIfLong = (
  live: Cuttable,
  agent: Agent,
  history: HistoryModule.History
): Effect.Effect<void, AppendError> => {
  const { maxHistoryTokens } = live.runtime.config
  if (history.estimatedTokens <= maxHistoryTokens) return Effect.void
  return compact(live, agent, history, live.turnStartSeq + 1, maxHistoryTokens * keptShare).pipe(
    Effect.catchTag("ModelError", (error) => Effect.logWarning("the history could not be summarized", error)),
    Effect.asVoid
  )
}

/**
 * In the middle of a turn, before a step's request: also what the turn itself did so far may be summarized, not what it was asked.
 */
export const compactNow = (
  live: Cuttable,
  agent: Agent,
  history: HistoryModule.History
): Effect.Effect<boolean, AppendError | ModelError> =>
  compact(
    live,
    agent,
    history,
    Number.POSITIVE_INFINITY,
    Math.min(history.estimatedTokens, live.runtime.config.maxHistoryTokens) * keptShare
  )

const compact = Effect.fnUntraced(function* (
  live: Cuttable,
  agent: Agent,
  history: HistoryModule.History,
  beforeSeq: number,
  keepTokens: number
) {
  const { compaction } = live.runtime
  if (compaction === undefined) return false
  const cut = history.cut({ keepTokens, beforeSeq, protectFrom: live.turnStartSeq })
  if (cut === undefined) return false
  const shortened = yield* compaction.summarize(agent, cut.messages)
  if (shortened === undefined) return false
  const kept = [...new Set([...shortened.kept, ...cut.kept])]
  const { summary, usage } = shortened
  const { throughSeq } = cut
  yield* commit(live, [
    AgentEvents.ContextCompacted.make({ throughSeq, summary, kept, ...(usage === undefined ? {} : { usage }) })
  ])
  return true
})
