/**
 * What the terminal shows of a chat: rows that stay, and the rows at the bottom that are drawn anew.
 *
 * @since 0.1.0
 */

import type { AgentMessage } from "@afterturn/agent/AgentMessage"
import { toText } from "@afterturn/agent/AgentMessage"
import type { TodoItem, TodoStatus } from "@afterturn/todo/TodoItem"
import type { ChatState } from "./ChatState.js"
import type { LineEditor } from "./LineEditor.js"
import type { Question } from "./Questions.js"
import * as Row from "./Row.js"
import * as SafeText from "./SafeText.js"
import * as TextLayout from "./TextLayout.js"
import * as Transcript from "./Transcript.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Size {
  readonly columns: number
  readonly rows: number
}

/**
 * `above` goes into the terminal's history, once; `live` are the rows below it, with the cursor in one of them, or hidden.
 *
 * @since 0.1.0
 * @category models
 */
export interface Frame {
  readonly above: ReadonlyArray<Row.Row>
  readonly live: ReadonlyArray<Row.Row>
  readonly cursor: { readonly row: number; readonly column: number } | undefined
}

/**
 * The columns that rows may take. The last one stays free: a row that fills it leaves the cursor where terminals disagree.
 *
 * @since 0.1.0
 * @category accessors
 */
export const columnsOf = (size: Size): number => Math.max(2, size.columns - 1)

/**
 * Takes what is complete out of a transcript, as rows, and leaves the row that text is still added to, which is returned as well.
 *
 * @since 0.1.0
 * @category rendering
 */
export const settle = (
  transcript: Transcript.Transcript,
  columns: number
): readonly [above: ReadonlyArray<Row.Row>, tail: ReadonlyArray<Row.Row>, transcript: Transcript.Transcript] => {
  const [lines, rest] = Transcript.take(transcript)
  const above = lines.flatMap((line) => Row.rows(line, columns))
  if (rest.open === undefined) return [above, [], rest]
  const [complete, open] = Row.split(rest.open, columns)
  return [[...above, ...complete], Row.rows(open, columns), { ...rest, open }]
}

/**
 * A frame of the chat. Everything fits the terminal: what is too much (of a checklist, of what waits, of a long input) is left out
 * and counted, the row with the cursor never is.
 *
 * @since 0.1.0
 * @category rendering
 */
export const frame = (
  state: ChatState,
  size: Size,
  options: { readonly input: boolean }
): readonly [Frame, ChatState] => {
  const columns = columnsOf(size)
  const [above, tail, transcript] = settle(state.transcript, columns)
  const budget = Math.max(1, size.rows - 1)
  const input = options.input ? inputRows(state.editor, columns, Math.max(1, Math.floor(budget / 3))) : noInput
  const status =
    budget > input.rows.length
      ? [state.question === undefined ? statusRow(state, columns, options) : questionRow(state.question, columns)]
      : []
  const room = budget - input.rows.length - status.length - tail.length
  const queue = waitingRows(transcript.waiting, columns, Math.min(3, Math.floor(room / 2)))
  const jobs = jobRows(state, columns, Math.min(4, Math.floor((room - queue.length) / 2)))
  const below = queue.length + jobs.length
  const list = checklistRows(state.todos, columns, Math.min(room - below - 1, Math.ceil(size.rows / 2)))
  const gap = room - below - list.length > 0 ? [[]] : []
  const before = [...(room < 0 ? [] : tail), ...gap, ...list, ...jobs, ...queue, ...status]
  const { cursor } = input
  return [
    {
      above,
      live: [...before, ...input.rows],
      cursor: cursor === undefined ? undefined : { row: before.length + cursor.row, column: cursor.column }
    },
    { ...state, transcript }
  ]
}

const boxes: { readonly [status in TodoStatus]: Row.Span } = {
  pending: Row.span("  ☐ ", "dim"),
  in_progress: Row.span("  ▸ ", "accent"),
  completed: Row.span("  ☑ ", "good")
}

const itemStyles: { readonly [status in TodoStatus]: Row.Style } = {
  pending: "plain",
  in_progress: "strong",
  completed: "dim"
}

/**
 * A todo list, a line a todo.
 *
 * @since 0.1.0
 * @category rendering
 */
export const checklistLines = (todos: ReadonlyArray<TodoItem>): ReadonlyArray<Row.Line> =>
  todos.map(({ content, status }) =>
    Row.line(SafeText.cleanLine(content), { label: boxes[status], style: itemStyles[status] })
  )

/**
 * A todo list in few rows, one a todo. Where not all of it fits, what is being worked on and what comes next is shown, and the rest
 * counted.
 *
 * @since 0.1.0
 * @category rendering
 */
export const checklistRows = (
  todos: ReadonlyArray<TodoItem>,
  columns: number,
  most: number
): ReadonlyArray<Row.Row> => {
  if (most < 1 || todos.length === 0) return []
  const [from, to] = window(todos, most)
  const rows = checklistLines(todos.slice(from, to)).flatMap((line) => Row.rows({ ...line, cut: true }, columns))
  return to - from === todos.length ? rows : [...rows, ...countRow(todos, to - from, columns)]
}

const window = (todos: ReadonlyArray<TodoItem>, most: number): readonly [from: number, to: number] => {
  if (todos.length <= most) return [0, todos.length]
  const shown = most - 1
  const current = todos.findIndex(({ status }) => status !== "completed")
  const from = Math.max(0, Math.min((current < 0 ? todos.length : current) - 1, todos.length - shown))
  return [from, from + shown]
}

const countRow = (todos: ReadonlyArray<TodoItem>, shown: number, columns: number): ReadonlyArray<Row.Row> => {
  const done = todos.filter(({ status }) => status === "completed").length
  const text = `  … ${todos.length - shown} more (${done} of ${todos.length} completed)`
  return Row.rows(Row.line(text, { style: "dim", cut: true }), columns)
}

const waitingRows = (waiting: ReadonlyArray<AgentMessage>, columns: number, most: number): ReadonlyArray<Row.Row> => {
  if (most < 1 || waiting.length === 0) return []
  const shown = waiting.length <= most ? waiting : waiting.slice(0, most - 1)
  const texts = shown.map(({ content }) => SafeText.cleanLine(toText(content).slice(0, 1000)))
  const more = waiting.length - shown.length
  return [...texts, ...(more > 0 ? [`… ${more} more`] : [])].flatMap((text) =>
    Row.rows(Row.line(`waiting: ${text}`, { style: "dim", cut: true }), columns)
  )
}

const jobRows = ({ doings, jobs, now }: ChatState, columns: number, most: number): ReadonlyArray<Row.Row> => {
  if (most < 1 || jobs.length === 0) return []
  const shown = jobs.length <= most ? jobs : jobs.slice(0, most - 1)
  const more = jobs.length - shown.length
  const lines = shown.map(({ id, label, since, stopping }) => {
    const doing = doings[id] ?? ""
    const parts = [...(stopping ? ["stopping"] : []), elapsedText(now - since), label, ...(doing === "" ? [] : [doing])]
    return Row.line(SafeText.cleanLine(parts.join(" · ")), {
      label: Row.span(`  ⧗ ${SafeText.cleanLine(id)} `, "accent"),
      style: "dim",
      cut: true
    })
  })
  const rest = more > 0 ? [Row.line(`  … ${more} more running (/jobs has all)`, { style: "dim", cut: true })] : []
  return [...lines, ...rest].flatMap((line) => Row.rows(line, columns))
}

/** In place of the status: the agent waits. */
const questionRow = ({ prefix, request }: Question, columns: number): Row.Row => {
  const always = prefix === undefined ? "" : `, a for always "${SafeText.cleanLine(prefix)}"`
  const text = `may ${SafeText.cleanLine(request.tool)} run that? y, n${always}, then Enter`
  return [Row.span("? ", "warn"), Row.span(TextLayout.truncate(text, Math.max(1, columns - 2)), "warn")]
}

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

/** Milliseconds of the clock that a picture of the spinner stays. */
const spinnerPace = 100

const statusRow = (state: ChatState, columns: number, { input }: { readonly input: boolean }): Row.Row => {
  const { armedUntil, now, runningSince, status, title, transcript } = state
  const running = status === "running"
  const sign = running
    ? Row.span(`${spinner[Math.floor(now / spinnerPace) % spinner.length] ?? ""} `, "accent")
    : Row.span("● ", "good")
  const parts = [
    ...(running ? [workText(transcript), elapsedText(now - runningSince)] : ["ready"]),
    SafeText.cleanLine(title)
  ]
  const idleHint = input ? "/help" : "Ctrl-C stops"
  const hint = armedUntil !== undefined ? "Ctrl-C again quits" : running ? "Ctrl-C stops" : idleHint
  const style = armedUntil === undefined ? "dim" : "warn"
  const room = columns - TextLayout.width(hint) - 5
  const text = TextLayout.truncate(parts.join(" · "), Math.max(1, room < 8 ? columns - 2 : room))
  return room < 8
    ? [sign, Row.span(text, "dim")]
    : [sign, Row.span(text, "dim"), Row.span(" · ", "dim"), Row.span(hint, style)]
}

const workText = ({ running, turn }: Transcript.Transcript): string => {
  const [call, ...more] = running
  const work = call === undefined ? "working" : `runs ${SafeText.cleanLine(call.name)}`
  return `${turn === undefined ? "" : `turn ${turn}: `}${work}${more.length === 0 ? "" : ` and ${more.length} more`}`
}

const elapsedText = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1000))
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

const prompt = Row.span("› ", "accent")
const promptWidth = 2

interface Input {
  readonly rows: ReadonlyArray<Row.Row>
  readonly cursor: Frame["cursor"]
}

const noInput: Input = { rows: [], cursor: undefined }

/**
 * The edited text, broken at the terminal's width and not at words, so that the cursor is where the next character goes. A text of
 * more rows than there is room for shows those around the cursor.
 */
const inputRows = (editor: LineEditor, columns: number, most: number): Input => {
  const available = Math.max(2, columns - promptWidth)
  const [rows, cursor] = editRows(around(editor), available)
  const from = Math.max(0, Math.min(cursor.row - most + 1, rows.length - most))
  return {
    rows: rows
      .slice(from, from + most)
      .map((text, index) => [from + index === 0 ? prompt : Row.span("  "), Row.span(text)]),
    cursor: { row: cursor.row - from, column: promptWidth + cursor.column }
  }
}

/** More than any terminal shows; so much of a long text is laid out at each key. */
const reach = 16_384

const around = (editor: LineEditor): Pick<LineEditor, "text" | "cursor"> => {
  // In steps, so that what is shown does not move with each key.
  const from = Math.max(0, Math.floor(editor.cursor / reach) - 1) * reach
  return { text: editor.text.slice(from, editor.cursor + reach), cursor: editor.cursor - from }
}

/** Rows of a text that is edited, and where among them the cursor stands. */
const editRows = (
  editor: Pick<LineEditor, "text" | "cursor">,
  columns: number
): readonly [ReadonlyArray<string>, NonNullable<Frame["cursor"]>] => {
  const rows: Array<string> = [""]
  let used = 0
  let offset = 0
  let cursor: NonNullable<Frame["cursor"]> = { row: 0, column: 0 }
  const startRow = () => {
    rows.push("")
    used = 0
  }
  for (const grapheme of TextLayout.graphemes(editor.text)) {
    const shown = TextLayout.expandTabs(grapheme)
    const size = grapheme === "\n" ? 0 : TextLayout.width(shown)
    if (used + size > columns) startRow()
    if (offset === editor.cursor) cursor = { row: rows.length - 1, column: used }
    offset += grapheme.length
    if (grapheme === "\n") startRow()
    else {
      rows[rows.length - 1] += shown
      used += size
    }
  }
  if (offset === editor.cursor) {
    if (used >= columns) startRow()
    cursor = { row: rows.length - 1, column: used }
  }
  return [rows, cursor]
}
