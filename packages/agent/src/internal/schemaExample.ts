/** A correct call, made from the Schema and the examples annotated on it. */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import type { Path } from "./jsonValue.js"
import { quote, render, setOwn } from "./jsonValue.js"
import type { Constraints, Shape } from "./schemaShape.js"
import { membersOf, shapeOf } from "./schemaShape.js"

/** Longest example that is worth its tokens. */
const maxExample = 400

/**
 * Something right to send: all of the arguments with what `path` leads to, when that can be built and is short, else
 * the top-level key of `path` alone. `undefined` when no value is known to be right: none is better than a wrong one.
 */
export const exampleText = (root: AST.AST, path: Path): string | undefined => {
  const whole = exampleOf(root, path)
  if (whole !== undefined) {
    const text = JSON.stringify(whole)
    if (text.length <= maxExample) return text
  }
  const [key] = path
  if (typeof key !== "string") return undefined
  const property = propertiesOf(root).find((candidate) => candidate.name === key)
  const part = property === undefined ? undefined : exampleOfProperty(property, path.slice(1), 0)
  const text = part === undefined ? undefined : render(part, maxExample)
  return text === undefined || text.length >= maxExample ? undefined : `${quote(key)}: ${text}`
}

const propertiesOf = (ast: AST.AST): ReadonlyArray<AST.PropertySignature> =>
  membersOf(ast).flatMap((member) => {
    const { base } = shapeOf(member)
    return AST.isTypeLiteral(base) ? base.propertySignatures : []
  })

const exampleOf = (ast: AST.AST, path: Path, depth = 0): unknown => candidates(ast, path, depth)[0]

const exampleOfProperty = (property: AST.PropertySignature, path: Path, depth: number): unknown =>
  encodedExamples(property, property.type)[0] ?? exampleOf(property.type, path, depth)

/** Values that the Schema accepts, annotated examples first. */
const candidates = (ast: AST.AST, path: Path, depth: number): ReadonlyArray<unknown> => {
  if (depth > 8) return []
  const shape = shapeOf(ast)
  const accepts = validator(ast)
  return [...annotatedExamples(ast), ...guesses(shape, path, depth).filter(accepts)]
}

const validator = (ast: AST.AST): ((value: unknown) => boolean) => {
  const decode = Schema.decodeUnknownEither(Schema.make<unknown, unknown>(ast), { onExcessProperty: "error" })
  return (value) => {
    try {
      return Either.isRight(decode(value))
    } catch {
      return false
    }
  }
}

/** Examples are annotated on the decoded side. */
const encodedExamples = (annotated: AST.Annotated, ast: AST.AST): ReadonlyArray<unknown> => {
  const examples = Option.getOrElse(AST.getExamplesAnnotation(annotated), (): ReadonlyArray<unknown> => [])
  if (examples.length === 0) return []
  const encode = ParseResult.encodeUnknownEither(Schema.make<unknown, unknown>(ast))
  return examples.flatMap((example) => Either.match(encode(example), { onLeft: () => [], onRight: (value) => [value] }))
}

const annotatedExamples = (ast: AST.AST): ReadonlyArray<unknown> => {
  const accepts = validator(ast)
  const found: Array<unknown> = []
  let current = ast
  for (;;) {
    found.push(...encodedExamples(current, current).filter(accepts))
    if (AST.isRefinement(current) || AST.isTransformation(current)) current = current.from
    else if (AST.isSuspend(current)) current = current.f()
    else return found
  }
}

const guesses = ({ base, constraints }: Shape, path: Path, depth: number): ReadonlyArray<unknown> => {
  switch (base._tag) {
    case "StringKeyword":
      return ["text".padEnd(Math.min(constraints.minLength ?? 0, 100), "."), "t"]
    case "NumberKeyword":
      return numberGuesses(constraints)
    case "BooleanKeyword":
      return [true, false]
    case "Literal":
      return [base.literal]
    case "Enums":
      return base.enums.map(([, value]) => value)
    case "TupleType":
      return tupleGuesses(base, constraints, path, depth)
    case "TypeLiteral":
      return [objectGuess(base, path, depth)]
    case "ObjectKeyword":
    case "UnknownKeyword":
    case "AnyKeyword":
      return [{}]
    case "Union":
      return membersOf(base)
        .flatMap((member) => candidates(member, path, depth + 1).slice(0, 1))
        .sort((a, b) => Number(a === null) - Number(b === null))
    default:
      return []
  }
}

const numberGuesses = ({ exclusiveMaximum, exclusiveMinimum, maximum, minimum }: Constraints): ReadonlyArray<number> =>
  [
    minimum,
    exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1,
    1,
    maximum,
    exclusiveMaximum === undefined ? undefined : exclusiveMaximum - 1,
    0,
    60
  ].filter((guess) => guess !== undefined)

const tupleGuesses = (
  ast: AST.TupleType,
  constraints: Constraints,
  path: Path,
  depth: number
): ReadonlyArray<unknown> => {
  const rest = path.slice(1)
  const item = (type: AST.AST) => exampleOf(type, rest, depth + 1)
  const items = ast.elements.filter((element) => !element.isOptional).map((element) => item(element.type))
  const [each, ...after] = ast.rest
  if (each !== undefined) {
    // One item shows more than none, except deep inside a recursive Schema.
    const count = Math.max(depth > 3 ? 0 : 1, Math.min(constraints.minItems ?? 0, 10) - items.length)
    const example = item(each.type)
    for (let i = 0; i < count; i++) items.push(example)
  }
  items.push(...after.map((type) => item(type.type)))
  return items.includes(undefined) ? [[]] : [items, []]
}

const objectGuess = (ast: AST.TypeLiteral, path: Path, depth: number): unknown => {
  const [key, ...rest] = path
  const out: Record<string, unknown> = {}
  for (const property of ast.propertySignatures) {
    if (typeof property.name !== "string" || (property.isOptional && property.name !== key)) continue
    const value = exampleOfProperty(property, property.name === key ? rest : [], depth + 1)
    if (value !== undefined) setOwn(out, property.name, value)
  }
  return out
}
