/** What a Schema's own checks find in data that already has the right form. */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import type { Path } from "./jsonValue.js"
import { clip, copy, makeBudget, render } from "./jsonValue.js"
import { shapeOf } from "./schemaShape.js"
import { words } from "./schemaText.js"
import type { Problem } from "./walk.js"
import { problemAt, subject } from "./walk.js"

/** Every problem, in order of place; none when the Schema accepts the value or can't be asked without effects. */
export const problemsOf = <A, I, R>(schema: Schema.Schema<A, I, R>, value: unknown): ReadonlyArray<Problem> => {
  // Services that are missing make the decoding Forbidden, which is no problem of the value.
  const decode = Schema.decodeUnknownEither(schema as unknown as Schema.Schema<A, I>, {
    errors: "all",
    onExcessProperty: "error"
  })
  const decoded = decode(value)
  return Either.isRight(decoded) ? [] : fromIssue(decoded.left.issue, { path: [], root: value, outer: undefined })
}

interface Place {
  readonly path: Path
  readonly root: unknown
  /** The outermost of the refinements around the value: it knows the most. */
  readonly outer: AST.AST | undefined
}

const fromIssue = (issue: ParseResult.ParseIssue, place: Place): ReadonlyArray<Problem> => {
  switch (issue._tag) {
    case "Pointer":
      return fromIssue(issue.issue, { ...place, path: [...place.path, ...keysOf(issue.path)], outer: undefined })
    case "Composite": {
      const message = overridingMessage(issue)
      if (message !== undefined) return [said(place, issue, message)]
      return fromMembers(issue, place)
    }
    case "Refinement": {
      const message = issue.kind === "Predicate" ? messageOf(issue) : overridingMessage(issue)
      if (message !== undefined) return [said(place, issue, message)]
      if (issue.kind === "From" || issue.issue._tag !== "Type" || issue.issue.message !== undefined) {
        return fromIssue(issue.issue, { ...place, outer: place.outer ?? issue.ast })
      }
      return [unsaid(place, issue, refinementWords(issue.ast, place.outer ?? issue.ast))]
    }
    case "Transformation": {
      const message = issue.kind === "Transformation" ? messageOf(issue) : overridingMessage(issue)
      return message !== undefined
        ? [said(place, issue, message)]
        : fromIssue(issue.issue, { ...place, outer: undefined })
    }
    case "Type": {
      const message = messageOf(issue) ?? issue.message
      return [message === undefined ? unsaid(place, issue, words(issue.ast)) : said(place, issue, message)]
    }
    case "Missing":
      return [said(place, issue, issue.message ?? "is missing")]
    case "Unexpected":
      return [said(place, issue, issue.message ?? "is not allowed")]
    case "Forbidden":
      return []
  }
}

const fromMembers = (issue: ParseResult.Composite, place: Place): ReadonlyArray<Problem> => {
  const issues = (Array.isArray(issue.issues) ? issue.issues : [issue.issues]) as ReadonlyArray<ParseResult.ParseIssue>
  if (!AST.isUnion(issue.ast)) return issues.flatMap((inner) => fromIssue(inner, place))
  // Of a union only a member that the value has the form of can say anything useful.
  const formed = issues.filter((inner) => inner._tag !== "Type")
  if (formed.length === 1 && formed[0] !== undefined) return fromIssue(formed[0], place)
  return issues.some((inner) => inner._tag === "Forbidden") ? [] : [unsaid(place, issue, words(issue.ast))]
}

const keysOf = (path: ParseResult.Path): Path =>
  (Array.isArray(path) ? path : [path]).map((key) => (typeof key === "number" ? key : String(key)))

type Inner = Exclude<ParseResult.ParseIssue, ParseResult.Pointer>

const messageOf = (issue: Inner): string | undefined => annotated(issue)?.message

/** Around an inner problem a message counts only when it says so. */
const overridingMessage = (issue: Inner): string | undefined => {
  const found = annotated(issue)
  return found?.override === true ? found.message : undefined
}

const annotated = (issue: Inner): { readonly message: string; readonly override: boolean } | undefined => {
  if (issue._tag === "Unexpected") return undefined
  const made: unknown = Option.getOrUndefined(AST.getMessageAnnotation(issue.ast))?.(issue)
  if (typeof made === "string") return { message: made, override: false }
  if (typeof made !== "object" || made === null || !("message" in made)) return undefined
  return typeof made.message === "string"
    ? { message: made.message, override: "override" in made && made.override === true }
    : undefined
}

const refinementWords = (ast: AST.Refinement, outer: AST.AST): string => {
  const constraints = Option.getOrElse(AST.getJSONSchemaAnnotation(ast), () => ({}))
  if (Object.keys(constraints).length > 0) return words(outer)
  const { note } = shapeOf(ast)
  if (note !== undefined) return note
  const name = Option.orElse(AST.getIdentifierAnnotation(ast), () => AST.getTitleAnnotation(ast))
  return Option.match(name, { onNone: () => "a valid value", onSome: (text) => `a valid ${clip(text, 80)}` })
}

const said = (place: Place, issue: ParseResult.ParseIssue, message: string): Problem => {
  const expected = clip(message, 400)
  const text = place.path.length === 0 ? expected : `${subject(place.path)}: ${expected}`
  return { path: place.path, expected, received: received(place, issue), text }
}

const unsaid = (place: Place, issue: ParseResult.ParseIssue, expected: string): Problem =>
  problemAt(place.path, expected, received(place, issue))

/** What was sent at the place; where the place exists only after decoding, the decoded value. */
const received = (place: Place, issue: ParseResult.ParseIssue): string => {
  let value = place.root
  for (const key of place.path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) {
      return render(copy(issue.actual, makeBudget()))
    }
    value = (value as Record<string | number, unknown>)[key]
  }
  return render(value)
}
