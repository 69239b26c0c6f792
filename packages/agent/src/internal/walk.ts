/** The record that a walk over data keeps: where it is, what it found, and how to try something without it counting. */
import type * as AST from "effect/SchemaAST"
import type { CopyBudget, JsonValue, Path } from "./jsonValue.js"
import { pathText, render } from "./jsonValue.js"
import { words } from "./schemaText.js"

/** What is wrong at one place: `text` is a clause for the model, the rest are its facts. */
export interface Problem {
  readonly path: Path
  readonly expected: string
  readonly received: string
  readonly text: string
}

/** Problems and notes beyond these are counted, not kept. */
export const maxReported = 3

/** Comparisons made for one input before it is given up as too complicated: unions in recursive Schemas multiply. */
export const maxSteps = 500_000

export const refused: unique symbol = Symbol("refused")

export interface Walk {
  readonly budget: CopyBudget
  readonly path: Array<string | number>
  /** JSON texts read so far: each member of a union asks again. */
  readonly texts: Map<string, { readonly depth: number; readonly read: JsonValue }>
  /** Off while a union looks for a member that takes the value just as it is. */
  coerce: boolean
  steps: number
  problems: Array<Problem>
  problemCount: number
  notes: Array<string>
  noteCount: number
}

/** What a problem's text calls the place. */
export const subject = (path: Path): string => (path.length === 0 ? "the arguments" : pathText(path))

export const problemAt = (path: Path, expected: string, received: string, hint?: string): Problem => ({
  path: [...path],
  expected,
  received,
  text: `${subject(path)} must be ${expected}${hint === undefined ? "" : `; ${hint}`}; received ${received}`
})

export const report = (walk: Walk, make: () => Problem): typeof refused => {
  walk.problemCount++
  if (walk.coerce && walk.problems.length < maxReported) walk.problems.push(make())
  return refused
}

export const refuse = (walk: Walk, ast: AST.AST, value: JsonValue, hint?: string): typeof refused =>
  report(walk, () => problemAt(walk.path, words(ast), render(value), hint))

export const note = (walk: Walk, text: () => string): void => {
  walk.noteCount++
  if (walk.notes.length < maxReported) walk.notes.push(text())
}

export interface Attempt {
  readonly member: AST.AST
  readonly value: unknown
  readonly found: Pick<Walk, "problems" | "problemCount" | "notes" | "noteCount">
}

/** Visits with a clean record and puts the walk's own back. */
export const attempt = (walk: Walk, member: AST.AST, visit: () => unknown): Attempt => {
  const { noteCount, notes, problemCount, problems } = walk
  Object.assign(walk, { notes: [], noteCount: 0, problems: [], problemCount: 0 })
  const read = visit()
  const found = {
    notes: walk.notes,
    noteCount: walk.noteCount,
    problems: walk.problems,
    problemCount: walk.problemCount
  }
  Object.assign(walk, { notes, noteCount, problems, problemCount })
  return { member, value: read, found }
}

export const adopt = (walk: Walk, { found, value }: Attempt): unknown => {
  walk.problems.push(...found.problems.slice(0, maxReported - walk.problems.length))
  walk.problemCount += found.problemCount
  walk.notes.push(...found.notes.slice(0, maxReported - walk.notes.length))
  walk.noteCount += found.noteCount
  return value
}
