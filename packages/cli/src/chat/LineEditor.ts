/**
 * The line that a person edits, which may have several lines: a pure function from a key to what it makes of it.
 *
 * @since 0.1.0
 */
import type { Key, KeyName } from "./Keys.js"
import * as TextLayout from "./TextLayout.js"

/**
 * `cursor` is an offset into `text`, between two characters as a reader sees them. `history` is oldest first; `place` is where in it
 * the person looks, its length while at the draft, which is kept aside meanwhile.
 *
 * @since 0.1.0
 * @category models
 */
export interface LineEditor {
  readonly text: string
  readonly cursor: number
  readonly history: ReadonlyArray<string>
  readonly place: number
  readonly draft: string
}

/** What is remembered of former inputs. */
const historyLength = 500

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (history: ReadonlyArray<string> = []): LineEditor => ({
  text: "",
  cursor: 0,
  history,
  place: history.length,
  draft: ""
})

/**
 * Other text, with the cursor at its end.
 *
 * @since 0.1.0
 * @category editing
 */
export const setText = (editor: LineEditor, text: string): LineEditor => ({ ...editor, text, cursor: text.length })

/**
 * Takes the text out and remembers it, unless it is blank or the same as last time.
 *
 * @since 0.1.0
 * @category editing
 */
export const submit = (editor: LineEditor): readonly [text: string, editor: LineEditor] => {
  const { history, text } = editor
  const worthwhile = text.trim() !== "" && text !== history[history.length - 1]
  return [text, make(worthwhile ? [...history, text].slice(-historyLength) : history)]
}

/**
 * The editor after a key. Keys that are not about editing change nothing.
 *
 * @since 0.1.0
 * @category editing
 */
export const press = (editor: LineEditor, key: Key): LineEditor =>
  key._tag === "Text" ? insert(editor, key.text) : (edits[key.name]?.(editor) ?? editor)

const insert = (editor: LineEditor, text: string): LineEditor =>
  settle({
    ...editor,
    text: editor.text.slice(0, editor.cursor) + text + editor.text.slice(editor.cursor),
    cursor: editor.cursor + text.length
  })

/** Removes what lies between the cursor and another offset. */
const remove = (editor: LineEditor, other: number): LineEditor => {
  const from = Math.min(editor.cursor, other)
  const to = Math.max(editor.cursor, other)
  return settle({ ...editor, text: editor.text.slice(0, from) + editor.text.slice(to), cursor: from })
}

/** An edit can join what stood on both sides of the cursor into one character, such as a letter and its accent: it goes behind. */
const settle = (editor: LineEditor): LineEditor => {
  const { cursor, text } = editor
  let at = Math.max(lineStart(editor), cursor - reach)
  for (const grapheme of TextLayout.graphemes(text.slice(at, Math.min(lineEnd(editor), cursor + reach)))) {
    if (at >= cursor) break
    at += grapheme.length
  }
  return move(editor, Math.max(at, cursor))
}

/** Characters are shorter than this: so much text around the cursor is looked at, however long a line was pasted. */
const reach = 1000

const move = (editor: LineEditor, cursor: number): LineEditor => ({ ...editor, cursor })

const edits: { readonly [name in KeyName]?: (editor: LineEditor) => LineEditor } = {
  newLine: (editor) => insert(editor, "\n"),
  left: (editor) => move(editor, before(editor)),
  right: (editor) => move(editor, after(editor)),
  wordLeft: (editor) => move(editor, wordStart(editor)),
  wordRight: (editor) => move(editor, wordEnd(editor)),
  home: (editor) => move(editor, lineStart(editor)),
  end: (editor) => move(editor, lineEnd(editor)),
  backspace: (editor) => remove(editor, before(editor)),
  delete: (editor) => remove(editor, after(editor)),
  deleteWordLeft: (editor) => remove(editor, wordStart(editor)),
  deleteWordRight: (editor) => remove(editor, wordEnd(editor)),
  // At the end of a line its break goes, so that the key does not get stuck there.
  deleteToEnd: (editor) => remove(editor, lineEnd(editor) === editor.cursor ? after(editor) : lineEnd(editor)),
  deleteToStart: (editor) => remove(editor, lineStart(editor) === editor.cursor ? before(editor) : lineStart(editor)),
  up: (editor) => vertical(editor, -1) ?? recall(editor, editor.place - 1),
  down: (editor) => vertical(editor, 1) ?? recall(editor, editor.place + 1)
}

const before = (editor: LineEditor): number => {
  const { cursor, text } = editor
  const start = lineStart(editor)
  if (start === cursor) return Math.max(0, cursor - 1)
  const last = TextLayout.graphemes(text.slice(Math.max(start, cursor - reach), cursor)).at(-1) ?? ""
  return cursor - last.length
}

const after = (editor: LineEditor): number => {
  const { cursor, text } = editor
  const first = TextLayout.graphemes(text.slice(cursor, Math.min(lineEnd(editor), cursor + reach)))[0]
  return first === undefined ? Math.min(text.length, cursor + 1) : cursor + first.length
}

const nextBreak = (text: string, from: number): number => {
  const at = text.indexOf("\n", from)
  return at < 0 ? text.length : at
}

const lineStart = ({ cursor, text }: LineEditor): number => (cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1)

const lineEnd = ({ cursor, text }: LineEditor): number => nextBreak(text, cursor)

const isWord = (grapheme: string | undefined): boolean => grapheme !== undefined && /[\p{L}\p{N}\p{M}_]/u.test(grapheme)

/** Back over what is between words, then over the word. */
const wordStart = ({ cursor, text }: LineEditor): number => {
  const before = TextLayout.graphemes(text.slice(0, cursor))
  let index = before.length
  while (index > 0 && !isWord(before[index - 1])) index--
  while (index > 0 && isWord(before[index - 1])) index--
  return before.slice(0, index).join("").length
}

const wordEnd = ({ cursor, text }: LineEditor): number => {
  const behind = TextLayout.graphemes(text.slice(cursor))
  let index = 0
  while (index < behind.length && !isWord(behind[index])) index++
  while (isWord(behind[index])) index++
  return cursor + behind.slice(0, index).join("").length
}

/** One line up or down in the text, at about the same column; `undefined` beyond the first and last. */
const vertical = (editor: LineEditor, by: 1 | -1): LineEditor | undefined => {
  const { cursor, text } = editor
  const start = lineStart(editor)
  const target = by < 0 ? start - 1 : nextBreak(text, cursor) + 1
  if (target < 0 || target > text.length) return undefined
  const column = TextLayout.width(text.slice(start, cursor))
  const from = by < 0 ? lineStart({ ...editor, cursor: target }) : target
  const line = text.slice(from, nextBreak(text, from))
  return move(editor, from + offsetAt(line, column))
}

const offsetAt = (line: string, column: number): number => {
  let used = 0
  let offset = 0
  for (const grapheme of TextLayout.graphemes(line)) {
    used += TextLayout.width(grapheme)
    if (used > column) break
    offset += grapheme.length
  }
  return offset
}

const recall = (editor: LineEditor, place: number): LineEditor => {
  const { history } = editor
  if (place < 0 || place > history.length) return editor
  const draft = editor.place === history.length ? editor.text : editor.draft
  const text = history[place] ?? draft
  return { ...editor, place, draft, text, cursor: text.length }
}
