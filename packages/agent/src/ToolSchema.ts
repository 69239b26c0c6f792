/**
 * The JSON Schemas of tool parameters, and the forms of them that providers take.
 *
 * @since 0.1.0
 */

/**
 * A JSON Schema, as far as parameters of tools use it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolSchema {
  readonly type?: string | ReadonlyArray<string>
  readonly description?: string
  readonly properties?: Readonly<Record<string, ToolSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | ToolSchema
  readonly items?: ToolSchema
  readonly anyOf?: ReadonlyArray<ToolSchema>
  readonly oneOf?: ReadonlyArray<ToolSchema>
  readonly enum?: ReadonlyArray<unknown>
  readonly [keyword: string]: unknown
}

/**
 * Providers whose strict mode, in which answers are held to the schema, takes only part of JSON Schema.
 *
 * @since 0.1.0
 * @category models
 */
export type StrictProvider = "openai-strict" | "anthropic"

/** Applies a change to every schema inside, the innermost first. */
const deep = (schema: ToolSchema, change: (schema: ToolSchema) => ToolSchema): ToolSchema => {
  const go = (inner: ToolSchema) => deep(inner, change)
  return change({
    ...schema,
    ...(schema.properties === undefined ? {} : { properties: mapValues(schema.properties, go) }),
    ...(schema.items === undefined ? {} : { items: go(schema.items) }),
    ...(schema.anyOf === undefined ? {} : { anyOf: schema.anyOf.map(go) }),
    ...(schema.oneOf === undefined ? {} : { oneOf: schema.oneOf.map(go) })
  })
}

const mapValues = <A, B>(record: Readonly<Record<string, A>>, f: (value: A, key: string) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, f(value, key)]))

const omit = (schema: ToolSchema, keywords: ReadonlyArray<string>): ToolSchema =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)))

/**
 * A schema as the Schema library derives it, without what only costs tokens: titles that name the library's own checks, an empty
 * `required`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const tidy = (schema: ToolSchema): ToolSchema =>
  deep(schema, (inner) =>
    omit(inner, ["title", "$schema", "$id", ...(inner.required?.length === 0 ? ["required"] : [])])
  )

/**
 * The form of a schema that a provider's strict mode takes. What it does not take is said in the description instead, so that the model
 * still knows; the tool checks it in any case, and reads `null` for an optional key as the key's absence.
 *
 * - `openai-strict`: every key is required, an optional one may be null; objects are closed; no `oneOf`, lengths or examples
 * - `anthropic`: objects are closed; no `oneOf`, ranges, lengths or examples
 *
 * @since 0.1.0
 * @category conversions
 */
export const strictVariant = (schema: ToolSchema, provider: StrictProvider): ToolSchema =>
  deep(schema, (inner) => {
    const plain = said(choice(inner), unsupported[provider])
    const closed = plain.properties === undefined ? plain : { ...plain, additionalProperties: false }
    return provider === "openai-strict" ? allRequired(closed) : closed
  })

const lengths = ["minLength", "maxLength"]
const ranges = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]
const counts = ["minItems", "maxItems", "uniqueItems"]

const unsupported: Readonly<Record<StrictProvider, ReadonlyArray<string>>> = {
  "openai-strict": ["examples", "default", "uniqueItems", ...lengths],
  anthropic: ["examples", ...ranges, ...counts, ...lengths]
}

const choice = ({ oneOf, ...schema }: ToolSchema): ToolSchema =>
  oneOf === undefined ? schema : { ...schema, anyOf: oneOf }

/** Moves keywords into the description. */
const said = (schema: ToolSchema, keywords: ReadonlyArray<string>): ToolSchema => {
  const facts = keywords.flatMap((keyword) => (keyword in schema ? [factText(keyword, schema[keyword])] : []))
  if (facts.length === 0) return schema
  const { description, ...rest } = omit(schema, keywords)
  return { ...rest, description: [description, facts.join(", ")].filter((part) => part !== undefined).join("; ") }
}

const factText = (keyword: string, value: unknown): string => {
  switch (keyword) {
    case "examples":
      return `for example ${(value as ReadonlyArray<unknown>).map((example) => JSON.stringify(example)).join(" or ")}`
    case "default":
      return `default ${JSON.stringify(value)}`
    case "uniqueItems":
      return "no item twice"
    case "minimum":
      return `at least ${value}`
    case "maximum":
      return `at most ${value}`
    case "exclusiveMinimum":
      return `more than ${value}`
    case "exclusiveMaximum":
      return `less than ${value}`
    case "multipleOf":
      return `a multiple of ${value}`
    case "minItems":
      return `at least ${value} items`
    case "maxItems":
      return `at most ${value} items`
    case "minLength":
      return `at least ${value} characters`
    default:
      return `at most ${value} characters`
  }
}

const allRequired = (schema: ToolSchema): ToolSchema => {
  if (schema.properties === undefined) return schema
  const given = new Set(schema.required)
  return {
    ...schema,
    properties: mapValues(schema.properties, (inner, key) => (given.has(key) ? inner : nullable(inner))),
    required: Object.keys(schema.properties)
  }
}

/** A plain value may simply be null; anything else becomes a choice, since a list of values beside `null` confuses providers. */
const nullable = (schema: ToolSchema): ToolSchema => {
  if (schema.anyOf !== undefined) return { ...schema, anyOf: [...schema.anyOf, { type: "null" }] }
  const isPlain = typeof schema.type === "string" && !["object", "array"].includes(schema.type)
  if (isPlain && schema.enum === undefined) return { ...schema, type: [schema.type as string, "null"] }
  const { description, ...rest } = schema
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, { type: "null" }] }
}

/**
 * What providers are known to refuse in the parameters of a tool, each with its path; a request that holds such a tool fails whole.
 *
 * @since 0.1.0
 * @category checks
 */
export const faults = (schema: ToolSchema): ReadonlyArray<string> => [
  ...(schema.type === "object" ? [] : ["(root): expected type object"]),
  ...(schema.anyOf === undefined && schema.oneOf === undefined ? [] : ["(root): expected no choice"]),
  ...faultsIn(schema, "(root)")
]

const refused = ["$ref", "$defs", "definitions", "allOf", "not", "prefixItems", "patternProperties", "if"]

const faultsIn = (schema: ToolSchema, path: string): ReadonlyArray<string> => {
  const choices = schema.anyOf ?? schema.oneOf
  const types = schema.type === undefined ? [] : [schema.type].flat()
  const own = [
    ...refused.flatMap((keyword) => (keyword in schema ? [`expected no ${keyword}`] : [])),
    ...(types.length === 0 && choices === undefined ? ["expected a type"] : []),
    ...(types.includes("array") && schema.items === undefined ? ["expected items"] : []),
    ...(types.includes("object") && schema.properties === undefined ? ["expected properties"] : []),
    ...(types.includes("object") && schema.additionalProperties !== false ? ["expected a closed object"] : []),
    ...(types.includes("null") && schema.enum !== undefined ? ["expected no enum beside null"] : []),
    ...(isProperty(path) && (schema.description ?? "") === "" ? ["expected a description"] : [])
  ]
  return [
    ...own.map((fault) => `${path}: ${fault}`),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => faultsIn(inner, inPath(path, key))),
    ...(schema.items === undefined ? [] : faultsIn(schema.items, `${path}(items)`)),
    ...(choices ?? []).flatMap((inner, index) => faultsIn(inner, `${path}(${index + 1})`))
  ]
}

const inPath = (path: string, key: string): string => (path === "(root)" ? key : `${path}.${key}`)

const isProperty = (path: string): boolean => !path.endsWith(")")
