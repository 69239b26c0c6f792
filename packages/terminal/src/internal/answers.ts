import * as BoundedText from "@afterturn/agent/BoundedText"
import { JobStatus } from "@afterturn/jobs/Job"
import { Instant } from "@afterturn/session-log/Instant"
import * as Schema from "effect/Schema"
import type { TerminalExit } from "../TerminalBackend.js"
import type { SendResult, TerminalInfo, TerminalPage } from "../Terminals.js"
import { exitWords } from "./live.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** A terminal as tools show it. */
export const ShownTerminal = Schema.Struct({
  sessionId: Schema.String,
  type: Schema.String,
  name: optional(Schema.String),
  cwd: Schema.String,
  state: Schema.Literal("prompt", "input", "running", "exited"),
  program: optional(Schema.String),
  exit: optional(Schema.String),
  survivors: optional(Schema.Number),
  full_screen: Schema.Boolean,
  columns: Schema.Number,
  rows: Schema.Number,
  opened_at: Instant
})

export type ShownTerminal = typeof ShownTerminal.Type

export const shown = (terminal: TerminalInfo): ShownTerminal => ({
  sessionId: terminal.id,
  type: terminal.type,
  ...(terminal.name === undefined ? {} : { name: terminal.name }),
  cwd: terminal.cwd,
  state: terminal.state,
  ...(terminal.program === undefined ? {} : { program: terminal.program }),
  ...(terminal.exit === undefined ? {} : { exit: exitWords(terminal.exit) }),
  ...(terminal.survivors === 0 ? {} : { survivors: terminal.survivors }),
  full_screen: terminal.isFullScreen,
  columns: terminal.size.columns,
  rows: terminal.size.rows,
  opened_at: terminal.openedAt
})

/** What came of a text or a signal; with `job_id` it goes on in the background. */
export const SendAnswer = Schema.Struct({
  sessionId: Schema.String,
  reason: optional(Schema.Literal("prompt", "input", "silence", "timeout", "exit")),
  output: Schema.String,
  dropped: optional(Schema.Boolean),
  exit_code: optional(Schema.Number),
  state: ShownTerminal.fields.state,
  program: optional(Schema.String),
  full_screen: Schema.Boolean,
  exit: optional(Schema.String),
  job_id: optional(Schema.String),
  status: optional(JobStatus)
})

export type SendAnswer = typeof SendAnswer.Type

export const sendAnswer = (result: SendResult, outputLimitBytes: number): SendAnswer => {
  const { text, truncated } = cut(result.lines.join("\n"), outputLimitBytes)
  const { exit, program, state } = shown(result.terminal)
  return {
    sessionId: result.terminal.id,
    reason: result.reason,
    output: text,
    ...(result.areDropped || truncated ? { dropped: true } : {}),
    ...(result.exitCode === undefined ? {} : { exit_code: result.exitCode }),
    state,
    ...(program === undefined ? {} : { program }),
    full_screen: result.terminal.isFullScreen,
    ...(exit === undefined ? {} : { exit })
  }
}

/** UTF-8 bytes that the words of an answer take beside its lines. */
const wordsBytes = 600

const cut = (text: string, outputLimitBytes: number) =>
  BoundedText.tail(text, { maxBytes: Math.max(0, outputLimitBytes - wordsBytes) })

export const sendText =
  ({ noticesDelivered }: { readonly noticesDelivered: boolean }) =>
  (answer: SendAnswer): string =>
    [
      ...(answer.dropped === true ? ["[… earlier lines are left out; terminal_read pages what is kept …]"] : []),
      ...(answer.output === "" ? [] : [answer.output]),
      ...jobWords(answer, noticesDelivered),
      `[${answer.sessionId}: ${standing(answer)}]`
    ].join("\n")

const jobWords = ({ job_id }: SendAnswer, noticesDelivered: boolean): ReadonlyArray<string> =>
  job_id === undefined
    ? []
    : [
        `It runs in the background as ${job_id}.`,
        noticesDelivered
          ? "You will be told when the terminal is at its prompt again, waits for input or exits: do not wait for it. job_output reads what it writes, job_kill interrupts it."
          : "Nobody will tell you when it is done: job_output reads what it writes, and waits for its end with wait: true. job_kill interrupts it."
      ]

const reasonWords = {
  prompt: "at its prompt",
  input: "waits for input",
  silence: "still running, and wrote nothing for a while: terminal_read shows what it writes later",
  timeout: "still running: terminal_read shows what it writes later",
  exit: "exited"
}

const standing = ({ exit, exit_code, full_screen, program, reason, state }: SendAnswer): string =>
  [
    reason === undefined ? stateWords[state] : reasonWords[reason],
    ...(program === undefined || reason === "prompt" ? [] : [`program: ${program}`]),
    ...(exit_code === undefined ? [] : [`exit code: ${exit_code}`]),
    ...(exit === undefined ? [] : [exit]),
    ...(full_screen ? ["a program has the whole screen"] : [])
  ].join(", ")

const stateWords = { prompt: "at its prompt", input: "waits for input", running: "running", exited: "exited" }

export const terminalLine = (terminal: ShownTerminal): string =>
  [
    `${terminal.sessionId} (${terminal.type}${terminal.name === undefined ? "" : `, ${JSON.stringify(terminal.name)}`})`,
    [
      stateWords[terminal.state],
      ...(terminal.program === undefined ? [] : [`program: ${terminal.program}`]),
      ...(terminal.exit === undefined ? [] : [terminal.exit]),
      ...(terminal.survivors === undefined ? [] : [`${terminal.survivors} processes left behind`]),
      `opened in ${terminal.cwd} at ${terminal.opened_at}`
    ].join(", ")
  ].join(" ")

/** A page of lines in reading order. `offset` and `count` are those of the page; `total` lines are kept. */
export const ReadAnswer = Schema.Struct({
  terminal: ShownTerminal,
  output: Schema.String,
  offset: Schema.Number,
  count: Schema.Number,
  total: Schema.Number
})

export type ReadAnswer = typeof ReadAnswer.Type

/** As many of the newest lines of the page as an answer may hold. */
export const readAnswer = ({ lines, offset, terminal, total }: TerminalPage, outputLimitBytes: number): ReadAnswer => {
  const { text, truncated } = cut(lines.join("\n"), outputLimitBytes)
  // A line that is cut is left to the next page, unless it is the only one.
  const whole = truncated && text.includes("\n") ? text.slice(text.indexOf("\n") + 1) : text
  const count = lines.length === 0 ? 0 : whole.split("\n").length
  return { terminal: shown(terminal), output: whole, offset, count, total }
}

export const readText = ({ count, offset, output, terminal, total }: ReadAnswer): string => {
  const older = total - offset - count
  const place = terminal.full_screen
    ? "the screen of a program that has it whole"
    : `lines ${total - offset - count + 1} to ${total - offset} of ${total}`
  return [
    ...(output === "" ? [] : [output]),
    `[${terminalLine(terminal)}; ${count === 0 ? "no lines" : place}${older > 0 ? `; offset ${offset + count} reads those before` : ""}]`
  ].join("\n")
}

/** How a terminal stood when it was closed. */
export const CloseAnswer = Schema.Struct({
  sessionId: Schema.String,
  closed: Schema.Literal(true),
  exit: optional(Schema.String)
})

export const closeAnswer = (id: string, exit: TerminalExit | undefined): typeof CloseAnswer.Type => ({
  sessionId: id,
  closed: true,
  ...(exit === undefined ? {} : { exit: exitWords(exit) })
})
