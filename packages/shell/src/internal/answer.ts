import { isTerminal, JobStatus } from "@afterturn/jobs/Job"
import { statusLine } from "@afterturn/jobs/JobNotice"
import * as Schema from "effect/Schema"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * What is known of a command when its call is answered. `job_id` with a final `status` is what the ledger of jobs takes for having told
 * of the end; `cursor` is how far the output was read.
 */
export const Answer = Schema.Struct({
  job_id: optional(Schema.String),
  status: JobStatus,
  detail: optional(Schema.String),
  exit_code: optional(Schema.Number),
  output: Schema.String,
  dropped_bytes: optional(Schema.Number),
  output_path: optional(Schema.String),
  timed_out: optional(Schema.Boolean),
  cursor: optional(Schema.Number)
})

export type Answer = typeof Answer.Type

/** UTF-8 bytes that the text of an answer takes beside the output and the path. */
export const wordsBytes = 1000

/** The answer as a model reads it: the output, what to know of it, and where the command stands. */
export const textOf =
  ({ noticesDelivered }: { readonly noticesDelivered: boolean }) =>
  (answer: Answer): string =>
    [
      ...droppedWords(answer),
      ...outputLines(answer),
      ...timeoutWords(answer),
      ...runningWords(answer, noticesDelivered),
      statusLine(answer.status, answer.detail)
    ].join("\n")

const droppedWords = ({ dropped_bytes, output_path }: Answer): ReadonlyArray<string> =>
  dropped_bytes === undefined
    ? []
    : [
        output_path === undefined
          ? `[… ${dropped_bytes} earlier bytes are left out …]`
          : `[… ${dropped_bytes} earlier bytes are left out; the whole output is in ${output_path} …]`
      ]

const outputLines = ({ dropped_bytes, output, status }: Answer): ReadonlyArray<string> => {
  if (output !== "") return [output.replace(/\n$/, "")]
  return isTerminal(status) && dropped_bytes === undefined ? ["(no output)"] : []
}

const timeoutWords = ({ job_id, status, timed_out }: Answer): ReadonlyArray<string> => {
  if (timed_out !== true) return []
  return isTerminal(status)
    ? ["The command did not end in time and was ended."]
    : [`The command did not end in time and goes on in the background as ${job_id}.`]
}

const runningWords = (answer: Answer, noticesDelivered: boolean): ReadonlyArray<string> => {
  if (isTerminal(answer.status) || answer.job_id === undefined) return []
  const { job_id, output_path, timed_out } = answer
  return [
    ...(timed_out === true ? [] : [`The command runs in the background as ${job_id}.`]),
    noticesDelivered
      ? "You will be told when it ends: do not wait for it. job_output reads what it writes, job_kill ends it."
      : "Nobody will tell you when it ends: job_output reads what it writes, and waits for its end with wait: true. job_kill ends it.",
    ...(output_path === undefined ? [] : [`Its output is kept in ${output_path}.`])
  ]
}
