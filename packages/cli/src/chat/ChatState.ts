/**
 * An interactive chat as a state machine: what a key, the agent or the clock makes of it, and what is to be done then.
 *
 * @since 0.1.0
 */
import type { AgentOutput, AgentStatus } from "@afterturn/agent/Agent"
import type { ApprovalAnswer } from "@afterturn/agent/Approval"
import type { TodoItem } from "@afterturn/todo/TodoItem"
import type { Key } from "./Keys.js"
import * as LineEditor from "./LineEditor.js"
import * as Questions from "./Questions.js"
import type * as Row from "./Row.js"
import * as Transcript from "./Transcript.js"

/**
 * A background job that runs, since `since` in milliseconds of the clock.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunningJob {
  readonly id: string
  readonly label: string
  readonly stopping: boolean
  readonly since: number
}

/**
 * `armedUntil` is when Ctrl-C stops meaning "quit", in milliseconds of the clock, as `runningSince` and `now`, the time of the last
 * input.
 *
 * @since 0.1.0
 * @category models
 */
export interface ChatState {
  readonly title: string
  readonly editor: LineEditor.LineEditor
  readonly transcript: Transcript.Transcript
  readonly todos: ReadonlyArray<TodoItem>
  readonly jobs: ReadonlyArray<RunningJob>
  /** What the subagents do that work as these jobs. */
  readonly doings: { readonly [job: string]: string }
  /** What the agent waits for leave to do. */
  readonly question: Questions.Question | undefined
  readonly status: AgentStatus
  readonly now: number
  readonly runningSince: number
  readonly armedUntil: number | undefined
}

/**
 * What can happen.
 *
 * @since 0.1.0
 * @category models
 */
export type Happening =
  | { readonly _tag: "Key"; readonly key: Key }
  | { readonly _tag: "Output"; readonly item: AgentOutput }
  | { readonly _tag: "Status"; readonly status: AgentStatus }
  | { readonly _tag: "Todos"; readonly todos: ReadonlyArray<TodoItem> }
  | { readonly _tag: "Jobs"; readonly jobs: ReadonlyArray<RunningJob> }
  | { readonly _tag: "Doing"; readonly job: string; readonly doing: string }
  | { readonly _tag: "Question"; readonly question: Questions.Question | undefined }
  | { readonly _tag: "Note"; readonly lines: ReadonlyArray<Row.Line> }
  | { readonly _tag: "Tick" }

/**
 * What is to be done about it. `Send` hands a message to the agent's next step, which wakes an idle one.
 *
 * @since 0.1.0
 * @category models
 */
export type Action =
  | { readonly _tag: "Send"; readonly text: string }
  | { readonly _tag: "Command"; readonly name: string; readonly argument: string }
  | { readonly _tag: "Answer"; readonly answer: ApprovalAnswer }
  | { readonly _tag: "Cancel" }
  | { readonly _tag: "Quit" }
  | { readonly _tag: "Suspend" }
  | { readonly _tag: "Redraw" }

/**
 * How long a second Ctrl-C quits, in milliseconds.
 *
 * @since 0.1.0
 * @category constants
 */
export const quitWindow = 2000

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly title: string
  readonly now: number
  readonly transcript: Transcript.Transcript
}): ChatState => ({
  title: options.title,
  editor: LineEditor.make(),
  transcript: options.transcript,
  todos: [],
  jobs: [],
  doings: {},
  question: undefined,
  status: "idle",
  now: options.now,
  runningSince: options.now,
  armedUntil: undefined
})

/**
 * Whether something on the screen changes with time alone.
 *
 * @since 0.1.0
 * @category accessors
 */
export const moves = (state: ChatState): boolean =>
  state.status === "running" || state.armedUntil !== undefined || state.jobs.length > 0

/**
 * The state after something happened at `now`, and what is to be done.
 *
 * @since 0.1.0
 * @category folds
 */
export const update = (
  before: ChatState,
  happening: Happening,
  now: number
): readonly [state: ChatState, actions: ReadonlyArray<Action>] => {
  const expired = before.armedUntil !== undefined && now >= before.armedUntil
  const state = { ...before, now, armedUntil: expired ? undefined : before.armedUntil }
  switch (happening._tag) {
    case "Key":
      return press(state, happening.key)
    case "Output":
      return [{ ...state, transcript: Transcript.add(state.transcript, happening.item) }, nothing]
    case "Status": {
      const begins = happening.status === "running" && state.status === "idle"
      return [{ ...state, status: happening.status, runningSince: begins ? now : state.runningSince }, nothing]
    }
    case "Todos":
      return [{ ...state, todos: happening.todos }, nothing]
    case "Jobs":
      return [{ ...state, jobs: happening.jobs }, nothing]
    case "Doing":
      return [{ ...state, doings: { ...state.doings, [happening.job]: happening.doing } }, nothing]
    case "Question":
      return [{ ...state, question: happening.question }, nothing]
    case "Note":
      return [{ ...state, transcript: Transcript.note(state.transcript, happening.lines) }, nothing]
    case "Tick":
      return [state, nothing]
  }
}

const nothing: ReadonlyArray<Action> = []

const press = (state: ChatState, key: Key): readonly [ChatState, ReadonlyArray<Action>] => {
  if (key._tag === "Press") {
    switch (key.name) {
      case "interrupt":
        return interrupt(state)
      case "enter":
        return enter(state)
      case "endOfInput":
        return state.editor.text === "" ? [state, [{ _tag: "Quit" }]] : edit(state, { _tag: "Press", name: "delete" })
      case "suspend":
        return [state, [{ _tag: "Suspend" }]]
      case "redraw":
        return [state, [{ _tag: "Redraw" }]]
    }
  }
  return edit(state, key)
}

/** Whoever goes on typing does not mean to quit. */
const edit = (state: ChatState, key: Key): readonly [ChatState, ReadonlyArray<Action>] => [
  { ...state, editor: LineEditor.press(state.editor, key), armedUntil: undefined },
  nothing
]

const interrupt = (state: ChatState): readonly [ChatState, ReadonlyArray<Action>] => {
  if (state.armedUntil !== undefined) return [state, [{ _tag: "Quit" }]]
  const armed = { ...state, armedUntil: state.now + quitWindow }
  if (state.status === "running") return [armed, [{ _tag: "Cancel" }]]
  return [{ ...armed, editor: LineEditor.setText(state.editor, "") }, nothing]
}

const enter = (state: ChatState): readonly [ChatState, ReadonlyArray<Action>] => {
  const [text, editor] = LineEditor.submit(state.editor)
  const next = { ...state, editor, armedUntil: undefined }
  const answer = state.question === undefined ? undefined : Questions.read(state.question, text)
  if (answer !== undefined) return [{ ...next, question: undefined }, [{ _tag: "Answer", answer }]]
  const entered = read(text)
  return entered === undefined ? [next, nothing] : [next, [entered]]
}

/**
 * What an entered text asks for: a line that begins with `/` is a command, `//` stands for a message that begins with one. `undefined`
 * for a blank text.
 *
 * @since 0.1.0
 * @category parsing
 */
export const read = (text: string): Extract<Action, { readonly _tag: "Send" | "Command" }> | undefined => {
  const entered = text.trim()
  if (entered === "") return undefined
  if (!entered.startsWith("/")) return { _tag: "Send", text: entered }
  if (entered.startsWith("//")) return { _tag: "Send", text: entered.slice(1) }
  const [, name = "", argument = ""] = /^\/(\S*)\s*(.*)$/s.exec(entered) ?? []
  return { _tag: "Command", name, argument }
}
