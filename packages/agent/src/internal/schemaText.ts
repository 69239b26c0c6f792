/** What a parameters Schema wants, in words for the one who sent something else. */
import type * as AST from "effect/SchemaAST"
import { clip, quote } from "./jsonValue.js"
import type { Constraints, Shape } from "./schemaShape.js"
import { literalsOf, maxItems, membersOf, minItems, nounPhrase, shapeOf } from "./schemaShape.js"

/** Completes "must be …". */
export const words = (ast: AST.AST): string => clip(unionWords(ast), 400)

const unionWords = (ast: AST.AST): string => {
  const literals = literalsOf(ast)
  if (literals !== undefined) return oneOf(literals.map(literalText))
  const parts = [...new Set(membersOf(ast).map((member) => shapeWords(shapeOf(member))))]
  return parts.length <= 1 ? (parts[0] ?? "left out") : `${parts.slice(0, -1).join(", ")} or ${parts[parts.length - 1]}`
}

/** A list to choose from. */
const oneOf = (choices: ReadonlyArray<string>): string =>
  choices.length === 1
    ? `${choices[0]}`
    : `one of ${choices.slice(0, 20).join(", ")}${choices.length > 20 ? ", …" : ""}`

const literalText = (value: AST.LiteralValue): string =>
  typeof value === "string" ? quote(clip(value, 80)) : String(value)

const shapeWords = ({ base, constraints, note }: Shape): string => {
  if (note !== undefined) return note
  switch (base._tag) {
    case "StringKeyword":
      return stringWords(constraints, ownPhrase(base, "a string"))
    case "TemplateLiteral":
      return `a string like ${clip(String(base), 100)}`
    case "NumberKeyword":
      return numberWords(constraints)
    case "BooleanKeyword":
      return "true or false"
    case "Literal":
      return literalText(base.literal)
    case "Enums":
      return oneOf(base.enums.map(([, value]) => literalText(value)))
    case "TupleType":
      return `an array${sizeWords(
        constraints.minItems ?? minItems(base),
        constraints.maxItems ?? maxItems(base),
        "item"
      )}`
    case "TypeLiteral":
      return objectWords(base)
    case "ObjectKeyword":
      return "an object or an array"
    case "UnknownKeyword":
    case "AnyKeyword":
      return "JSON data"
    default:
      return nounPhrase(base) ?? clip(String(base), 100)
  }
}

/** `a string to be decoded into …`: a description that goes on where the plain words end. */
const ownPhrase = (ast: AST.Annotated, plain: string): string => {
  const phrase = nounPhrase(ast)
  return phrase?.startsWith(plain) === true ? phrase : plain
}

const stringWords = ({ maxLength, minLength, pattern }: Constraints, plain: string): string => {
  const sized =
    minLength === 1 && maxLength === undefined
      ? "a non-empty string"
      : plain + sizeWords(minLength ?? 0, maxLength, "character")
  return pattern === undefined ? sized : `${sized} that matches ${clip(pattern, 120)}`
}

const numberWords = (constraints: Constraints): string => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum } = constraints
  const noun = constraints.type === "integer" ? "an integer" : "a number"
  if (minimum !== undefined && maximum !== undefined) return `${noun} from ${minimum} to ${maximum}`
  const bounds = [
    minimum === undefined ? undefined : `of at least ${minimum}`,
    exclusiveMinimum === undefined ? undefined : `greater than ${exclusiveMinimum}`,
    maximum === undefined ? undefined : `of at most ${maximum}`,
    exclusiveMaximum === undefined ? undefined : `less than ${exclusiveMaximum}`
  ].filter((bound) => bound !== undefined)
  return bounds.length === 0 ? noun : `${noun} ${bounds.join(" and ")}`
}

const sizeWords = (min: number, max: number | undefined, unit: string): string => {
  const units = (n: number) => `${n} ${unit}${n === 1 ? "" : "s"}`
  if (max === min) return ` of exactly ${units(min)}`
  if (max !== undefined) return min === 0 ? ` of at most ${units(max)}` : ` of ${min} to ${units(max)}`
  return min === 0 ? "" : ` of at least ${units(min)}`
}

const objectWords = (ast: AST.TypeLiteral): string => {
  const required = ast.propertySignatures.filter((property) => !property.isOptional)
  const names = required.slice(0, 8).map((property) => quote(clip(String(property.name), 60)))
  if (names.length === 0) return "an object"
  if (required.length > names.length) return `an object with ${names.join(", ")} …`
  const last = names.pop()
  return `an object with ${names.length === 0 ? last : `${names.join(", ")} and ${last}`}`
}
