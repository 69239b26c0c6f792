/** One rule set for what models send: checks data against a Schema's encoded side and reads harmless misspellings of it. */
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import type { CopyBudget, JsonObject, JsonValue } from "./jsonValue.js"
import { clip, copy, isObject, kindOf, NotJson, pathText, quote, render, setOwn } from "./jsonValue.js"
import { nearest } from "./nearest.js"
import { isInteger, kindsOf, literalsOf, maxItems, membersOf, minItems, shapeOf } from "./schemaShape.js"
import { words } from "./schemaText.js"
import type { Attempt, Problem, Walk } from "./walk.js"
import { adopt, attempt, maxSteps, note, problemAt, refuse, refused, report, subject } from "./walk.js"

export type Coerced =
  | { readonly ok: true; readonly value: unknown; readonly notes: ReadonlyArray<string> }
  | { readonly ok: false; readonly problems: ReadonlyArray<Problem>; readonly count: number }

/** Reads `input` as what the encoded side of `ast` describes. */
export const coerce = (ast: AST.AST, input: JsonValue, budget: CopyBudget): Coerced => {
  const walk: Walk = {
    budget,
    path: [],
    texts: new Map(),
    coerce: true,
    steps: 0,
    problems: [],
    problemCount: 0,
    notes: [],
    noteCount: 0
  }
  const value = visit(walk, ast, input)
  if (walk.steps > maxSteps) return { ok: false, problems: [problemAt([], "simpler", "too much to compare")], count: 1 }
  if (value === refused) return { ok: false, problems: walk.problems, count: walk.problemCount }
  const more = walk.noteCount - walk.notes.length
  return { ok: true, value, notes: more === 0 ? walk.notes : [...walk.notes, `${more} more were read likewise`] }
}

const visit = (walk: Walk, ast: AST.AST, value: JsonValue): unknown => {
  if (++walk.steps > maxSteps) return refused
  if (value instanceof NotJson) return refuse(walk, ast, value)
  const { base } = shapeOf(ast)
  switch (base._tag) {
    case "StringKeyword":
      return typeof value === "string" ? value : refuse(walk, ast, value, stringHint(value))
    case "TemplateLiteral":
      if (typeof value === "string" && AST.getTemplateLiteralRegExp(base).test(value)) return value
      return refuse(walk, ast, value)
    case "NumberKeyword":
      return visitNumber(walk, ast, value)
    case "BooleanKeyword":
      if (typeof value === "boolean") return value
      return readBoolean(walk, value) ?? refuse(walk, ast, value)
    case "Literal":
    case "Enums":
      return visitLiterals(walk, ast, literalsOf(ast) ?? [], value)
    case "TupleType":
      return visitArray(walk, ast, base, value)
    case "TypeLiteral":
      return visitObject(walk, ast, base, value)
    case "Union":
      return visitUnion(walk, ast, value)
    case "ObjectKeyword":
      return visitAnyContainer(walk, ast, value)
    case "UnknownKeyword":
    case "AnyKeyword":
      return visitData(walk, value)
    default:
      return refuse(walk, ast, value)
  }
}

/** Digits are not text: "1.10" sent as a number is already 1.1. */
const stringHint = (value: JsonValue): string | undefined =>
  typeof value === "number" || typeof value === "boolean"
    ? `put it in quotes: "${value}"`
    : typeof value === "object" && value !== null
      ? "send it as text"
      : undefined

const visitNumber = (walk: Walk, ast: AST.AST, value: JsonValue): unknown => {
  const integer = isInteger(shapeOf(ast))
  const read = typeof value === "number" ? value : readNumber(walk, value, integer)
  return read === undefined || (integer && !Number.isSafeInteger(read)) ? refuse(walk, ast, value) : read
}

/** Plain decimal notation as JSON writes it, without an exponent; nothing that would lose digits. */
const readNumber = (walk: Walk, value: JsonValue, integer: boolean): number | undefined => {
  if (!walk.coerce || typeof value !== "string" || value.length > 40) return undefined
  const text = value.trim()
  if (!(integer ? /^-?(?:0|[1-9]\d*)$/ : /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/).test(text)) return undefined
  const read = Number(text)
  return Math.abs(read) > Number.MAX_SAFE_INTEGER ? undefined : read === 0 ? 0 : read
}

const readBoolean = (walk: Walk, value: JsonValue): boolean | undefined => {
  if (!walk.coerce || typeof value !== "string") return undefined
  const text = value.length > 20 ? value : value.trim()
  return text === "true" ? true : text === "false" ? false : undefined
}

const visitLiterals = (
  walk: Walk,
  ast: AST.AST,
  literals: ReadonlyArray<AST.LiteralValue>,
  value: JsonValue
): unknown => {
  if (literals.includes(value as AST.LiteralValue)) return value
  const read = [readNumber(walk, value, false), readBoolean(walk, value)].find(
    (candidate) => candidate !== undefined && literals.includes(candidate)
  )
  if (read !== undefined) return read
  const near =
    typeof value === "string"
      ? nearest(
          value,
          literals.filter((literal) => typeof literal === "string")
        )
      : undefined
  return refuse(walk, ast, value, near === undefined ? undefined : `did you mean ${quote(near)}`)
}

/** JSON text where the data itself belongs. Parsed as JSON, nothing else; read only when it is of the wanted kind. */
const readText = (walk: Walk, value: JsonValue, wanted: (read: JsonValue) => boolean): JsonValue | undefined => {
  if (!walk.coerce || typeof value !== "string" || !looksLikeJson(value)) return undefined
  const read = parseOnce(walk, value)
  if (read === undefined || !wanted(read)) return undefined
  note(walk, () => `${subject(walk.path)}: a JSON string was read as an ${Array.isArray(read) ? "array" : "object"}`)
  return read
}

const parseOnce = (walk: Walk, text: string): JsonValue | undefined => {
  const depth = walk.path.length
  const known = walk.texts.get(text)
  if (known?.depth === depth) return known.read
  const parsed = parse(text)
  if (parsed === undefined) return undefined
  const read = copy(parsed.value, walk.budget, depth)
  walk.texts.set(text, { depth, read })
  return read
}

const looksLikeJson = (text: string): boolean => /^\s*[[{]/.test(text)

const parse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

const isArray = (value: JsonValue): value is ReadonlyArray<JsonValue> => Array.isArray(value)

const textHint = (value: JsonValue, what: string): string | undefined =>
  typeof value === "string" && looksLikeJson(value) && parse(value) === undefined
    ? `the text is not valid JSON, send the ${what} itself`
    : undefined

const visitArray = (walk: Walk, ast: AST.AST, base: AST.TupleType, value: JsonValue): unknown => {
  const items = isArray(value) ? value : readText(walk, value, isArray)
  if (items === undefined || !isArray(items)) return refuse(walk, ast, value, arrayHint(base, value))
  if (items.length < minItems(base) || items.length > (maxItems(base) ?? Infinity)) {
    return report(walk, () => problemAt(walk.path, words(ast), `${items.length} items`))
  }
  const out: Array<unknown> = []
  let whole = true
  for (let i = 0; i < items.length; i++) {
    walk.path.push(i)
    const item = visit(walk, itemType(base, i, items.length), items[i] as JsonValue)
    walk.path.pop()
    if (item !== refused) out.push(item)
    else if (walk.coerce) whole = false
    else return refused
  }
  return whole ? out : refused
}

/** The Schema of an item: leading elements, then the repeated one, then what must come last. */
const itemType = (ast: AST.TupleType, index: number, length: number): AST.AST => {
  const element = ast.elements[index]
  if (element !== undefined) return element.type
  const last = ast.rest[index - length + ast.rest.length]
  return (index - length + ast.rest.length > 0 && last !== undefined ? last : (ast.rest[0] as AST.Type)).type
}

const arrayHint = (base: AST.TupleType, value: JsonValue): string | undefined => {
  const unreadable = textHint(value, "array")
  if (unreadable !== undefined || value instanceof NotJson || value === null) return unreadable
  const item = base.rest[0] ?? base.elements[0]
  const sent = typeof value === "string" && looksLikeJson(value) ? "object" : kindOf(value)
  return item !== undefined && kindsOf(item.type).has(sent) ? "wrap the item in [ ]" : undefined
}

const visitObject = (walk: Walk, ast: AST.AST, base: AST.TypeLiteral, value: JsonValue): unknown => {
  const object = isObject(value) ? value : readText(walk, value, isObject)
  if (!isObject(object)) return refuse(walk, ast, value, textHint(value, "object"))
  const out: Record<string, unknown> = {}
  const explained = visitUnknownKeys(walk, base, object, out)
  if (explained === refused) return refused
  let whole = explained.whole
  for (const property of base.propertySignatures) {
    if (typeof property.name !== "string") continue
    const member = visitProperty(walk, property, property.name, object, explained.meant)
    if (member === refused) {
      if (!walk.coerce) return refused
      whole = false
    } else if (member !== undefined) {
      setOwn(out, property.name, member)
    }
  }
  return whole ? out : refused
}

/** A property's value, or `undefined` when it is rightly absent. */
const visitProperty = (
  walk: Walk,
  property: AST.PropertySignature,
  name: string,
  object: JsonObject,
  meant: ReadonlySet<string>
): unknown => {
  const given = Object.hasOwn(object, name) ? object[name] : undefined
  const absent =
    given === undefined || (given === null && walk.coerce && property.isOptional && !kindsOf(property.type).has("null"))
  walk.path.push(name)
  try {
    if (!absent) return visit(walk, property.type, given)
    if (property.isOptional || acceptsUndefined(property.type)) return undefined
    if (meant.has(name)) return refused
    return report(walk, () => {
      const expected = words(property.type)
      const text = `${subject(walk.path)} is missing; it must be ${expected}`
      return { path: [...walk.path], expected, received: "nothing", text }
    })
  } finally {
    walk.path.pop()
  }
}

const acceptsUndefined = (ast: AST.AST): boolean => {
  const { base } = shapeOf(ast)
  return AST.isUnion(base) ? base.types.some(acceptsUndefined) : AST.isUndefinedKeyword(base)
}

/** Keys without a property: entries of a record, or problems. `meant` are missing keys that misspelt ones stand for. */
const visitUnknownKeys = (
  walk: Walk,
  ast: AST.TypeLiteral,
  object: JsonObject,
  out: Record<string, unknown>
): { readonly whole: boolean; readonly meant: ReadonlySet<string> } | typeof refused => {
  const known = ast.propertySignatures.map((property) => property.name).filter((name) => typeof name === "string")
  const knownSet = new Set(known)
  const meant = new Set<string>()
  let whole = true
  for (const [key, value] of Object.entries(object)) {
    if (knownSet.has(key)) continue
    const type = entryType(ast, key)
    walk.path.push(key)
    const read = type === undefined ? refuseKey(walk, key, value, known, object, meant) : visit(walk, type, value)
    walk.path.pop()
    if (read !== refused) out[key] = read
    else if (walk.coerce) whole = false
    else return refused
  }
  return { whole, meant }
}

/** The Schema of a record's entry. `__proto__` is none: decoding would assign to the prototype. */
const entryType = (ast: AST.TypeLiteral, key: string): AST.AST | undefined =>
  key === "__proto__" ? undefined : ast.indexSignatures.find(({ parameter }) => isKey(parameter, key))?.type

const isKey = (parameter: AST.Parameter, key: string): boolean =>
  AST.isStringKeyword(parameter) || ParseResult.is(Schema.make<PropertyKey>(parameter))(key)

const refuseKey = (
  walk: Walk,
  key: string,
  value: JsonValue,
  known: ReadonlyArray<string>,
  object: JsonObject,
  meant: Set<string>
): typeof refused => {
  if (!walk.coerce) return refused
  const near = nearest(
    key,
    known.filter((name) => !Object.hasOwn(object, name))
  )
  if (near !== undefined) meant.add(near)
  return report(walk, () => {
    const where = walk.path.length === 1 ? "" : ` in ${pathText(walk.path.slice(0, -1))}`
    const names = clip(known.slice(0, 40).join(", "), 400)
    const expected = known.length === 0 ? "no keys" : `only the key${known.length === 1 ? "" : "s"} ${names}`
    const hint = near === undefined ? "" : `; did you mean ${quote(near)}`
    return {
      path: [...walk.path],
      expected,
      received: render(value),
      text: `unknown key ${render(key, 80)}${where}${hint}; ${expected} ${known.length === 1 ? "is" : "are"} allowed`
    }
  })
}

const visitUnion = (walk: Walk, ast: AST.AST, value: JsonValue): unknown => {
  const literals = literalsOf(ast)
  if (literals !== undefined) return visitLiterals(walk, ast, literals, value)
  const members = membersOf(ast)
  if (members.length === 1) return visit(walk, members[0] as AST.AST, value)
  const asSent = firstExact(walk, members, value)
  if (asSent !== refused || !walk.coerce) return asSent

  const tagged = members.filter((member) => agreesOnTags(member, value))
  const tries = (tagged.length === 0 ? members : tagged).map((member) =>
    attempt(walk, member, () => visit(walk, member, value))
  )
  const accepted = tries.filter((one) => one.value !== refused)
  const [first] = accepted
  if (first !== undefined) {
    const text = JSON.stringify(first.value)
    if (accepted.every((one) => JSON.stringify(one.value) === text)) return adopt(walk, first)
    return refuse(walk, ast, value, "it could be read in more than one way")
  }
  const likely = mostLikely(tries, value)
  return likely === undefined ? refuse(walk, ast, value) : adopt(walk, likely)
}

/** The one attempt whose problems are worth telling: of the value's kind, or the only one beside null. */
const mostLikely = (tries: ReadonlyArray<Attempt>, value: JsonValue): Attempt | undefined => {
  const beside = tries.filter((one) => !isNull(one.member))
  if (beside.length === 1) return beside[0]
  const near = value instanceof NotJson ? [] : beside.filter((one) => kindsOf(one.member).has(kindOf(value)))
  return near.length === 1 ? near[0] : undefined
}

const isNull = (ast: AST.AST): boolean => {
  const { base } = shapeOf(ast)
  return AST.isLiteral(base) && base.literal === null
}

/** Whether an object has the right text wherever a member is told apart by a fixed one. */
const agreesOnTags = (member: AST.AST, value: JsonValue): boolean => {
  if (!isObject(value)) return true
  const { base } = shapeOf(member)
  return (
    AST.isTypeLiteral(base) &&
    base.propertySignatures.every((property) => {
      const tags = property.isOptional ? undefined : (literalsOf(property.type) as ReadonlyArray<unknown> | undefined)
      if (tags === undefined || tags.some((tag) => typeof tag !== "string")) return true
      return tags.includes(value[String(property.name)])
    })
  )
}

const firstExact = (walk: Walk, members: ReadonlyArray<AST.AST>, value: JsonValue): unknown => {
  const { coerce, noteCount, problemCount } = walk
  walk.coerce = false
  let read: unknown = refused
  for (let i = 0; i < members.length && read === refused; i++) read = visit(walk, members[i] as AST.AST, value)
  Object.assign(walk, { coerce, noteCount, problemCount })
  return read
}

const visitAnyContainer = (walk: Walk, ast: AST.AST, value: JsonValue): unknown => {
  const isContainer = (read: JsonValue) => typeof read === "object" && read !== null
  const read = isContainer(value) ? value : readText(walk, value, isContainer)
  return read === undefined ? refuse(walk, ast, value, textHint(value, "object")) : visitData(walk, read)
}

/** Data without a Schema is taken as it is, if it is data. */
const visitData = (walk: Walk, value: JsonValue): unknown =>
  walk.budget.sawNotJson && reportNotJson(walk, value) ? refused : value

const reportNotJson = (walk: Walk, value: JsonValue): boolean => {
  if (value instanceof NotJson) {
    report(walk, () => problemAt(walk.path, "JSON data", value.received))
    return true
  }
  if (typeof value !== "object" || value === null) return false
  let found = false
  for (const [key, member] of Object.entries(value)) {
    walk.path.push(isArray(value) ? Number(key) : key)
    found = reportNotJson(walk, member as JsonValue) || found
    walk.path.pop()
  }
  return found
}
