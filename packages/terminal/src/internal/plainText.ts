/**
 * Takes out of a stream of terminal output what is not text: control sequences, and the returns before line feeds. A line that is
 * written over, as progress bars do, becomes several lines. State is kept between pieces, so that a sequence may be split.
 */
export interface PlainText {
  readonly next: (piece: string) => string
}

export const make = (): PlainText => {
  let state: State = "text"
  let isReturned = false
  let isBlank = true
  const step = (character: string): string => {
    const [following, shown] = transition(state, character)
    state = following
    if (shown === "") return ""
    if (shown === "\r") {
      isReturned = !isBlank
      return ""
    }
    const before = isReturned && shown !== "\n" ? "\n" : ""
    isReturned = false
    isBlank = shown === "\n"
    return before + shown
  }
  return {
    next: (piece) => {
      let text = ""
      for (const character of piece) text += step(character)
      return text
    }
  }
}

/** `string`: in an operating system command or the like, which ends with BEL or ESC and a backslash. */
type State = "text" | "escape" | "intermediate" | "sequence" | "string" | "stringEscape"

const transition = (state: State, character: string): readonly [State, string] => {
  const code = character.codePointAt(0)!
  if (state === "string")
    return [character === "\u0007" || code === 0x9c ? "text" : code === 0x1b ? "stringEscape" : state, ""]
  // CAN, SUB and ESC break off whatever is under way.
  if (code === 0x18 || code === 0x1a) return ["text", ""]
  if (code === 0x1b) return ["escape", ""]
  switch (state) {
    case "text":
      return [state, isShown(code) ? character : ""]
    case "stringEscape":
    case "escape":
      return [afterEscape(character, code), ""]
    case "intermediate":
      return [code >= 0x30 ? "text" : state, ""]
    case "sequence":
      return [code >= 0x40 && code <= 0x7e ? "text" : state, ""]
  }
}

const afterEscape = (character: string, code: number): State => {
  if (character === "[") return "sequence"
  if ("]PX^_".includes(character)) return "string"
  return code >= 0x20 && code < 0x30 ? "intermediate" : "text"
}

const isShown = (code: number): boolean =>
  code === 0x09 || code === 0x0a || code === 0x0d || (code >= 0x20 && code !== 0x7f && (code < 0x80 || code >= 0xa0))
