/** The encoded side of a parameters Schema, looked at through its wrappers. */
import * as Option from "effect/Option"
import * as AST from "effect/SchemaAST"
import type { Kind } from "./jsonValue.js"

/** The JSON Schema keywords that words are made of. */
export interface Constraints {
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
}

/** A Schema's encoded side without its wrappers: what a value must be, and the checks on top that concern this side. */
export interface Shape {
  readonly base: Exclude<AST.AST, AST.Refinement | AST.Transformation | AST.Suspend>
  readonly constraints: Constraints
  /** What the outermost check without constraints says of itself. */
  readonly note: string | undefined
}

/** Remembers what was found out about a Schema: it never changes, and every value of a large input asks. */
const remembered = <A>(find: (ast: AST.AST) => A): ((ast: AST.AST) => A) => {
  const known = new WeakMap<AST.AST, { readonly found: A }>()
  return (ast) => {
    const present = known.get(ast)
    if (present !== undefined) return present.found
    const found = find(ast)
    known.set(ast, { found })
    return found
  }
}

/** Peels refinements, transformations and suspensions off. */
export const shapeOf: (ast: AST.AST) => Shape = remembered((ast) => {
  let constraints: Constraints = {}
  let note: string | undefined
  let current = ast
  for (;;) {
    switch (current._tag) {
      case "Refinement": {
        const own: Constraints = Option.getOrElse(AST.getJSONSchemaAnnotation(current), () => ({}))
        if (Object.keys(own).length === 0) note ??= nounPhrase(current)
        constraints = { ...own, ...constraints }
        current = current.from
        break
      }
      case "Transformation":
        // The checks so far were on the decoded side.
        constraints = {}
        note = undefined
        current = current.from
        break
      case "Suspend":
        current = current.f()
        break
      default:
        return { base: current, constraints, note }
    }
  }
})

/** A description can finish "must be …" when it reads as "a …"; others describe the parameter's purpose. */
export const nounPhrase = (ast: AST.Annotated): string | undefined =>
  Option.getOrUndefined(Option.filter(AST.getDescriptionAnnotation(ast), (text) => /^an? /.test(text)))

export const isInteger = (shape: Shape): boolean => shape.constraints.type === "integer"

/** The members of a union, unions inside it opened; any other Schema is its own only member. */
export const membersOf: (ast: AST.AST) => ReadonlyArray<AST.AST> = remembered((ast) => {
  const { base } = shapeOf(ast)
  if (AST.isUnion(base)) return base.types.flatMap((member) => membersOf(member))
  return AST.isUndefinedKeyword(base) || AST.isNeverKeyword(base) ? [] : [ast]
})

const anyKind: ReadonlyArray<Kind> = ["null", "boolean", "number", "string", "array", "object"]

/** The kinds of JSON value that could be right. */
export const kindsOf: (ast: AST.AST) => ReadonlySet<Kind> = remembered(
  (ast) => new Set(membersOf(ast).flatMap(memberKinds))
)

const memberKinds = (ast: AST.AST): ReadonlyArray<Kind> => {
  const { base } = shapeOf(ast)
  switch (base._tag) {
    case "StringKeyword":
    case "TemplateLiteral":
      return ["string"]
    case "NumberKeyword":
      return ["number"]
    case "BooleanKeyword":
      return ["boolean"]
    case "Literal":
      return base.literal === null ? ["null"] : [typeof base.literal as Kind]
    case "Enums":
      return base.enums.map(([, value]) => typeof value as Kind)
    case "TupleType":
      return ["array"]
    case "TypeLiteral":
      return ["object"]
    case "ObjectKeyword":
      return ["array", "object"]
    case "UnknownKeyword":
    case "AnyKeyword":
      return anyKind
    default:
      return []
  }
}

/** The values of a Schema that is a list of fixed values, such as an enumeration. */
export const literalsOf: (ast: AST.AST) => ReadonlyArray<AST.LiteralValue> | undefined = remembered((ast) => {
  const values: Array<AST.LiteralValue> = []
  for (const member of membersOf(ast)) {
    const { base } = shapeOf(member)
    if (AST.isLiteral(base)) values.push(base.literal)
    else if (AST.isEnums(base)) values.push(...base.enums.map(([, value]) => value))
    else return undefined
  }
  return values.length === 0 ? undefined : values
})

export const minItems = (ast: AST.TupleType): number =>
  ast.elements.filter((element) => !element.isOptional).length + Math.max(0, ast.rest.length - 1)

export const maxItems = (ast: AST.TupleType): number | undefined =>
  ast.rest.length > 0 ? undefined : ast.elements.length
