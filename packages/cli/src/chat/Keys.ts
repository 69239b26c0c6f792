/**
 * What a person types: the bytes of a terminal in raw mode as keys.
 *
 * @since 0.1.0
 */
import * as SafeText from "./SafeText.js"

/**
 * Keys that do something. `newLine` is Alt-Enter, Shift-Enter where the terminal tells it apart, and Ctrl-J.
 *
 * @since 0.1.0
 * @category models
 */
export type KeyName =
  | "enter"
  | "newLine"
  | "escape"
  | "tab"
  | "left"
  | "right"
  | "up"
  | "down"
  | "home"
  | "end"
  | "wordLeft"
  | "wordRight"
  | "backspace"
  | "delete"
  | "deleteWordLeft"
  | "deleteWordRight"
  | "deleteToEnd"
  | "deleteToStart"
  | "interrupt"
  | "endOfInput"
  | "suspend"
  | "redraw"

/**
 * `Text` was typed or pasted: it goes in as it is, line breaks included.
 *
 * @since 0.1.0
 * @category models
 */
export type Key = { readonly _tag: "Text"; readonly text: string } | { readonly _tag: "Press"; readonly name: KeyName }

const controls: Readonly<Record<string, KeyName>> = {
  "\x01": "home",
  "\x02": "left",
  "\x03": "interrupt",
  "\x04": "endOfInput",
  "\x05": "end",
  "\x06": "right",
  "\x08": "backspace",
  "\t": "tab",
  "\n": "newLine",
  "\x0b": "deleteToEnd",
  "\x0c": "redraw",
  "\r": "enter",
  "\x0e": "down",
  "\x10": "up",
  "\x15": "deleteToStart",
  "\x17": "deleteWordLeft",
  "\x1a": "suspend",
  "\x7f": "backspace"
}

/** What follows ESC in a short sequence, or ESC [ or ESC O without its modifiers. */
const afterEscape: Readonly<Record<string, KeyName>> = {
  "\r": "newLine",
  "\n": "newLine",
  b: "wordLeft",
  f: "wordRight",
  d: "deleteWordRight",
  "\x7f": "deleteWordLeft",
  "\x08": "deleteWordLeft"
}

const finals: Readonly<Record<string, KeyName>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home"
}

const tildes: Readonly<Record<string, KeyName>> = { 1: "home", 3: "delete", 4: "end", 7: "home", 8: "end" }

const withModifier: { readonly [name in KeyName]?: KeyName } = {
  left: "wordLeft",
  right: "wordRight",
  delete: "deleteWordRight"
}

const pasteStart = "\x1b[200~"
const pasteEnd = "\x1b[201~"

// Linux consoles send ESC [ [ A for F1; a CSI is otherwise parameters, intermediates and a final character.
const csi = /^\x1b(\[\[?|O)([0-?]*)[ -/]*([@-~])/
const partial = /^\x1b(?:\[\[?[0-?]*[ -/]*|O[0-?]*)?$/

/**
 * Keys in a piece of input, and what is left of it: a sequence or a paste whose end has not come. What is left goes before the next
 * piece; `flush` reads it when none comes.
 *
 * @since 0.1.0
 * @category parsing
 */
export const decode = (left: string, piece: string): readonly [keys: ReadonlyArray<Key>, left: string] => {
  const input = left + piece
  const keys: Array<Key> = []
  let at = 0
  while (at < input.length) {
    const rest = input.slice(at, at + 64)
    if (rest.startsWith(pasteStart)) {
      const end = input.indexOf(pasteEnd, at)
      if (end < 0) break
      pushText(keys, input.slice(at + pasteStart.length, end))
      at = end + pasteEnd.length
    } else if (rest[0] === "\x1b") {
      if (at + rest.length === input.length && partial.test(rest)) break
      const [key, length] = readEscape(rest)
      if (key !== undefined) keys.push({ _tag: "Press", name: key })
      at += length
    } else if (isControl(rest[0])) {
      const name = controls[rest[0] ?? ""]
      if (name !== undefined) keys.push({ _tag: "Press", name })
      at += 1
    } else {
      const length = input.slice(at).search(/[\x00-\x1f\x7f]/)
      const end = length < 0 ? input.length : at + length
      pushText(keys, input.slice(at, end))
      at = end
    }
  }
  return [keys, input.slice(at)]
}

/**
 * What was left when no more input came for a moment: a lone ESC is the key. A paste waits for its end, however slow the line is: what
 * follows in it must not be taken for keys.
 *
 * @since 0.1.0
 * @category parsing
 */
export const flush = (left: string): readonly [keys: ReadonlyArray<Key>, left: string] => {
  if (left.startsWith(pasteStart)) return [[], left]
  return [left === "\x1b" ? [{ _tag: "Press", name: "escape" }] : [], ""]
}

const isControl = (character: string | undefined): boolean =>
  character !== undefined && (character < " " || character === "\x7f")

const pushText = (keys: Array<Key>, text: string) => {
  const typed = SafeText.clean(text)
  if (typed !== "") keys.push({ _tag: "Text", text: typed })
}

const readEscape = (input: string): readonly [KeyName | undefined, length: number] => {
  const match = csi.exec(input)
  if (match !== null) {
    const [whole, introducer, parameters = "", final = ""] = match
    return [introducer === "[[" ? undefined : readCsi(parameters, final), whole.length]
  }
  // ESC before ESC: the first was the key.
  if (input[1] === "\x1b") return ["escape", 1]
  return [afterEscape[input[1] ?? ""], 2]
}

const readCsi = (parameters: string, final: string): KeyName | undefined => {
  const [code = "", modifier = "1"] = parameters.split(";")
  if (final === "u") return readCodePoint(code, modifier)
  const name = final === "~" ? tildes[code] : finals[final]
  const plain = modifier === "1" || modifier === ""
  return name === undefined || plain ? name : (withModifier[name] ?? name)
}

/** The form of terminals that report every key: a code point and a modifier. */
const readCodePoint = (code: string, modifier: string): KeyName | undefined => {
  if (code === "13") return modifier === "1" ? "enter" : "newLine"
  if (code === "27") return "escape"
  if (modifier !== "5") return undefined
  const letter = Number(code)
  return letter >= 97 && letter <= 122 ? controls[String.fromCharCode(letter - 96)] : undefined
}
