import type * as Xterm from "@xterm/headless"
import * as Effect from "effect/Effect"
import type { TerminalSize } from "../TerminalBackend.js"
import type { KeyModes } from "../TerminalKeys.js"

/**
 * What the marks in a shell's prompts have said so far (OSC 133).
 */
export interface Prompts {
  /** How many prompts have been shown; 0 for programs that mark none. */
  readonly shown: number
  /** How many commands have begun. */
  readonly begun: number
  /** Whether the last thing shown was a prompt for a new command. */
  readonly isOpen: boolean
  /** The exit code of the command before the last prompt. */
  readonly exitCode: number | undefined
}

/**
 * A place in the lines, which moves with them; for what is written after it.
 */
export interface Mark {
  readonly marker: Xterm.IMarker | undefined
  readonly line: number
}

/**
 * Lines of a terminal: the text of each, without the blanks at its end.
 */
interface Lines {
  readonly lines: ReadonlyArray<string>
  /** Lines that were asked for and are no longer kept. */
  readonly areDropped: boolean
}

/**
 * What a terminal shows, kept by an emulator.
 */
export interface Screen {
  /** Shows text; is through once it is shown. What the emulator answers to the program's questions goes to `onReply`. */
  readonly show: (text: string) => Effect.Effect<void>
  readonly resize: (size: TerminalSize) => void
  readonly prompts: () => Prompts
  readonly modes: () => KeyModes
  /** Whether a program has the whole screen, with lines of its own that do not scroll away. */
  readonly isFull: () => boolean
  readonly mark: () => Mark
  /** What was shown after a mark, whole lines; the whole screen when a program has it. */
  readonly since: (mark: Mark) => Lines
  /** All lines that are kept, oldest first; those of the program that has the whole screen. */
  readonly lines: () => ReadonlyArray<string>
  readonly dispose: () => void
}

/** Loaded with the first terminal. */
export const load = Effect.promise(() => import("@xterm/headless")).pipe(
  // A module of the older kind: what it exports is its default.
  Effect.map((module) => ("default" in module ? (module.default as typeof Xterm) : module))
)

export type Emulator = Effect.Effect.Success<typeof load>

export const make = (
  emulator: Emulator,
  options: TerminalSize & { readonly scrollback: number; readonly onReply: (text: string) => void }
): Screen => {
  const terminal = new emulator.Terminal({
    cols: options.columns,
    rows: options.rows,
    scrollback: options.scrollback,
    allowProposedApi: true,
    logLevel: "off"
  })
  const prompts = { shown: 0, begun: 0, isOpen: false, exitCode: undefined as number | undefined }
  terminal.onData(options.onReply)
  terminal.parser.registerOscHandler(133, (data) => notePrompt(prompts, data))
  return {
    show: (text) => Effect.async<void>((resume) => terminal.write(text, () => resume(Effect.void))),
    resize: ({ columns, rows }) => terminal.resize(columns, rows),
    prompts: () => ({ ...prompts }),
    modes: () => ({ applicationCursor: terminal.modes.applicationCursorKeysMode }),
    isFull: () => terminal.buffer.active.type === "alternate",
    mark: () => ({
      marker: terminal.registerMarker(0),
      line: terminal.buffer.normal.baseY + terminal.buffer.normal.cursorY
    }),
    since: (mark) => linesSince(terminal, mark),
    lines: () => textOf(terminal.buffer.active, 0),
    dispose: () => terminal.dispose()
  }
}

const notePrompt = (
  prompts: { shown: number; begun: number; isOpen: boolean; exitCode: number | undefined },
  data: string
): boolean => {
  const [kind, code] = data.split(";")
  if (kind === "B") prompts.shown++
  if (kind === "C") prompts.begun++
  if (kind === "D") prompts.exitCode = code === undefined || !/^\d+$/.test(code) ? undefined : Number(code)
  // D comes with the prompt, and what is asked for between two lines of one command (P) is no prompt for a new one.
  if (kind === "B" || kind === "C" || kind === "P") prompts.isOpen = kind === "B"
  return true
}

const linesSince = (terminal: Xterm.Terminal, { line, marker }: Mark): Lines => {
  const { active } = terminal.buffer
  if (active.type === "alternate") return { lines: textOf(active, 0), areDropped: false }
  const from = marker === undefined ? line : marker.line
  const cursor = active.baseY + active.cursorY
  const areDropped = marker?.isDisposed === true || from < 0
  // Above the mark: the screen was cleared meanwhile.
  const start = areDropped ? 0 : from > cursor ? active.baseY : from
  marker?.dispose()
  return { lines: textOf(active, firstRow(active, start)), areDropped }
}

/** Where the line of a row begins. */
const firstRow = (buffer: Xterm.IBuffer, row: number): number => {
  let first = row
  while (first > 0 && buffer.getLine(first)?.isWrapped === true) first--
  return first
}

/** Lines from a row on: rows that only the width broke are one line, and blank rows at the end are none. */
const textOf = (buffer: Xterm.IBuffer, from: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (let row = from; row < buffer.length; row++) {
    const line = buffer.getLine(row)
    if (line === undefined) break
    const isContinued = buffer.getLine(row + 1)?.isWrapped === true
    const text = line.translateToString(!isContinued)
    if (line.isWrapped && lines.length > 0) lines.push(`${lines.pop()}${text}`)
    else lines.push(text)
  }
  while (lines.length > 0 && lines.at(-1)!.trim() === "") lines.pop()
  return lines
}
