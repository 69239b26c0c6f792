/**
 * The message that tells an owner which of its jobs ended.
 *
 * @since 0.1.0
 */
import type { NewMessage } from "@afterturn/agent/AgentMessage"
import type { TerminalStatus } from "./Job.js"
import { labelLine } from "./Job.js"

/**
 * What a notice says of one job. The label and the detail come from commands and producers: they are shown, never obeyed.
 *
 * @since 0.1.0
 * @category models
 */
export interface NoticedJob {
  readonly id: string
  /** Absent for a job that the ledger no longer shows. */
  readonly facts:
    | {
        readonly kind: string
        readonly label: string
        readonly status: TerminalStatus
        readonly detail: string | null
      }
    | undefined
}

/** How many jobs one notice spells out; the others are counted. */
const spelledOut = 20

/**
 * One message for all of them, in the order of their ends.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compose = (jobs: ReadonlyArray<NoticedJob>): NewMessage => ({
  source: { kind: "job-notice", jobs: jobs.map(({ id }) => id) },
  content: [{ type: "text", text: [headline(jobs.length), ...lines(jobs)].join("\n") }]
})

const headline = (count: number): string =>
  count === 1
    ? "A background job finished. Read its output with job_output."
    : `${count} background jobs finished. Read their output with job_output.`

const lines = (jobs: ReadonlyArray<NoticedJob>): ReadonlyArray<string> => {
  const rest = jobs.length - spelledOut
  return [...jobs.slice(0, spelledOut).map(line), ...(rest > 0 ? [`… and ${rest} more: job_list shows them.`] : [])]
}

const line = ({ facts, id }: NoticedJob): string =>
  facts === undefined
    ? `- ${id}`
    : `- ${id} (${facts.kind}: ${JSON.stringify(labelLine(facts.label))}) ${statusLine(facts.status, facts.detail)}`

/**
 * The status of a job in brackets, as every answer about one ends.
 *
 * @since 0.1.0
 * @category conversions
 */
export const statusLine = (status: string, detail: string | null | undefined): string =>
  `[status: ${status}${detail === null || detail === undefined || detail === "" ? "" : `, ${labelLine(detail)}`}]`
