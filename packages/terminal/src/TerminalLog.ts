/**
 * What the log knows of terminals: which ids a session was given, and which ones nobody has closed. Terminals themselves end with their
 * host.
 *
 * @since 0.1.0
 */
import { dataOf } from "@afterturn/agent/AgentLog"
import { JobProcess } from "@afterturn/jobs/Job"
import { JobSettle, JobStart } from "@afterturn/jobs/JobEvents"
import type * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import { TerminalClose, TerminalOpen } from "./TerminalEvents.js"

/**
 * The highest number of a terminal that was opened; 0: none. A fork goes on counting, so that an id in its history never means another
 * terminal.
 *
 * @since 0.1.0
 * @category projections
 */
export const lastNumber: Projection.Projection<number> = Projection.make({
  key: "terminal-numbers",
  version: 2,
  schema: Schema.Number,
  initial: 0,
  types: [TerminalOpen.type],
  history: "inherited",
  apply: (last, event) =>
    event.type === TerminalOpen.type ? Math.max(last, numberOf(dataOf(TerminalOpen, event).id) ?? 0) : last
})

/**
 * The terminals that were opened and not closed, by id; and the jobs that run in one of them.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Unclosed = Schema.Struct({
  terminals: Schema.Record({ key: Schema.String, value: JobProcess }),
  jobs: Schema.Record({ key: Schema.String, value: JobProcess })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Unclosed = typeof Unclosed.Type

/**
 * A fork has none: those of its history are its parent's.
 *
 * @since 0.1.0
 * @category projections
 */
export const unclosed: Projection.Projection<Unclosed, typeof Unclosed.Encoded> = Projection.make({
  key: "terminals-unclosed",
  version: 1,
  schema: Unclosed,
  initial: { terminals: {}, jobs: {} } as Unclosed,
  types: [TerminalOpen.type, TerminalClose.type, JobStart.type, JobSettle.type],
  apply: (current, event) => transition(current, event)
})

const transition = (current: Unclosed, event: SessionEvent): Unclosed => {
  switch (event.type) {
    case TerminalOpen.type: {
      const { id, process } = dataOf(TerminalOpen, event)
      return { ...current, terminals: { ...current.terminals, [id]: process } }
    }
    case TerminalClose.type:
      return { ...current, terminals: Record.remove(current.terminals, dataOf(TerminalClose, event).id) }
    case JobStart.type: {
      const { id, kind, process } = dataOf(JobStart, event)
      return kind !== "terminal" || process === undefined
        ? current
        : { ...current, jobs: { ...current.jobs, [id]: process } }
    }
    case JobSettle.type: {
      const { id } = dataOf(JobSettle, event)
      return Record.has(current.jobs, id) ? { ...current, jobs: Record.remove(current.jobs, id) } : current
    }
    default:
      return current
  }
}

/**
 * Those in which no job runs: what is left of the others is for the jobs' own recovery to end, and to tell.
 *
 * @since 0.1.0
 * @category accessors
 */
export const withoutJob = ({ jobs, terminals }: Unclosed): ReadonlyArray<JobProcess> => {
  const marks = new Set(Object.values(jobs).map(({ startedAt }) => startedAt))
  return Object.values(terminals).filter(({ startedAt }) => !marks.has(startedAt))
}

/**
 * The event types that these folds read.
 *
 * @since 0.1.0
 * @category events
 */
export const eventTypes: ReadonlyArray<EventTypes.AnyEventType> = [TerminalOpen, TerminalClose, JobStart, JobSettle]

/**
 * The number in the id of a terminal, `term-N`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const numberOf = (id: string): number | undefined => {
  const [, number] = /^term-([1-9]\d{0,14})$/.exec(id) ?? []
  return number === undefined ? undefined : Number(number)
}
