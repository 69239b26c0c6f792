/**
 * Keys by name, as the bytes that a keyboard sends.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"

/**
 * What a program may have asked of the keyboard.
 *
 * @since 0.1.0
 * @category models
 */
export interface KeyModes {
  /** Arrows, Home and End are sent in their application form (DECCKM). */
  readonly applicationCursor: boolean
}

const fixed: { readonly [name: string]: string } = {
  enter: "\r",
  tab: "\t",
  "shift-tab": "\u001b[Z",
  escape: "\u001b",
  space: " ",
  backspace: "\u007f",
  delete: "\u001b[3~",
  insert: "\u001b[2~",
  "page-up": "\u001b[5~",
  "page-down": "\u001b[6~",
  f1: "\u001bOP",
  f2: "\u001bOQ",
  f3: "\u001bOR",
  f4: "\u001bOS",
  f5: "\u001b[15~",
  f6: "\u001b[17~",
  f7: "\u001b[18~",
  f8: "\u001b[19~",
  f9: "\u001b[20~",
  f10: "\u001b[21~",
  f11: "\u001b[23~",
  f12: "\u001b[24~"
}

const cursor: { readonly [name: string]: string } = { up: "A", down: "B", right: "C", left: "D", home: "H", end: "F" }

const controls: { readonly [name: string]: number } = {
  "ctrl-space": 0x00,
  "ctrl-@": 0x00,
  "ctrl-[": 0x1b,
  "ctrl-\\": 0x1c,
  "ctrl-]": 0x1d,
  "ctrl-^": 0x1e,
  "ctrl-_": 0x1f
}

/**
 * The names that can be pressed; `ctrl-a` to `ctrl-z` and `alt-` with any one character as well.
 *
 * @since 0.1.0
 * @category constants
 */
export const names: ReadonlyArray<string> = [...Object.keys(fixed), ...Object.keys(cursor), ...Object.keys(controls)]

/**
 * What a key sends, or what was expected in place of it. Names may be written in capitals.
 *
 * @since 0.1.0
 * @category encoding
 */
export const encode = (key: string, modes: KeyModes): Either.Either<string, string> => {
  const name = key.length > 1 ? key.toLowerCase() : key
  const known = lookUp(fixed, name) ?? cursorKey(name, modes) ?? controlKey(name) ?? altKey(key)
  return known === undefined
    ? Either.left(
        `expected the name of a key (${names.join(", ")}, ctrl-a to ctrl-z, alt- and one character), got ${JSON.stringify(key)}`
      )
    : Either.right(known)
}

const lookUp = <A>(table: { readonly [name: string]: A }, name: string): A | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

const cursorKey = (name: string, { applicationCursor }: KeyModes): string | undefined => {
  const final = lookUp(cursor, name)
  return final === undefined ? undefined : `\u001b${applicationCursor ? "O" : "["}${final}`
}

const controlKey = (name: string): string | undefined => {
  const code = /^ctrl-[a-z]$/.test(name) ? name.charCodeAt(5) - 0x60 : lookUp(controls, name)
  return code === undefined ? undefined : String.fromCharCode(code)
}

const altKey = (key: string): string | undefined => {
  const [, character] = /^alt-(.)$/iu.exec(key) ?? []
  return character === undefined ? undefined : `\u001b${character}`
}
