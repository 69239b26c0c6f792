/**
 * Templates in the strings of a script: `{{result.PATH}}` and `{{job}}`.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/**
 * What templates are filled from. `result` is what the newest call of a tool returned (`{ error: { code, message } }` when it
 * failed), `job` the id of the newest job.
 *
 * @since 0.1.0
 * @category models
 */
export interface TemplateValues {
  readonly result: { readonly tool: string; readonly value: unknown } | undefined
  readonly job: string | undefined
}

/**
 * A template that nothing can fill. `step` says where in the script, `at` where in the step.
 *
 * @since 0.1.0
 * @category errors
 */
export class TemplateError extends Schema.TaggedError<TemplateError>("@afterturn/testing/TemplateError")(
  "TemplateError",
  { step: Schema.String, at: Schema.String, template: Schema.String, reason: Schema.String }
) {
  override get message(): string {
    return `${this.step}.${this.at}: ${this.template}: ${this.reason}`
  }
}

/**
 * Where a template stands: the step in the script, and the place in the step.
 *
 * @since 0.1.0
 * @category models
 */
export interface Place {
  readonly step: string
  readonly at: string
}

type Filled<A> = Either.Either<A, TemplateError>

/** Other text in double braces is left alone: `docker ps --format '{{.ID}}'` is a fine command. */
const templates = /\{\{\s*(job|result(?:\.[^\s{}]+)?)\s*\}\}/g
const onlyTemplate = new RegExp(`^${templates.source}$`)

/**
 * Fills a text. Values that are no strings are written as JSON.
 *
 * @since 0.1.0
 * @category rendering
 */
export const text = (source: string, values: TemplateValues, place: Place): Filled<string> => {
  const pieces: Array<Filled<string>> = []
  let end = 0
  for (const match of source.matchAll(templates)) {
    pieces.push(Either.right(source.slice(end, match.index)))
    pieces.push(Either.map(lookUp(match, values, place), toText))
    end = match.index + match[0].length
  }
  return Either.map(Either.all([...pieces, Either.right(source.slice(end))]), (texts) => texts.join(""))
}

/**
 * Fills the strings of a value, at any depth. A string that is nothing but a template becomes the value itself, of its own type.
 *
 * @since 0.1.0
 * @category rendering
 */
export const value = (source: unknown, values: TemplateValues, place: Place): Filled<unknown> => {
  if (typeof source === "string") {
    const only = onlyTemplate.exec(source)
    return only === null ? text(source, values, place) : lookUp(only, values, place)
  }
  if (Array.isArray(source)) {
    return Either.all(source.map((item, index) => value(item, values, { ...place, at: `${place.at}[${index}]` })))
  }
  if (typeof source !== "object" || source === null) return Either.right(source)
  const entries = Object.entries(source).map(([key, item]) =>
    Either.map(value(item, values, { ...place, at: `${place.at}.${key}` }), (filled) => [key, filled] as const)
  )
  return Either.map(Either.all(entries), (filled) => Object.fromEntries(filled))
}

const lookUp = (match: RegExpExecArray, values: TemplateValues, place: Place): Filled<unknown> => {
  const [template, name = ""] = match
  const refuse = (reason: string) => Either.left(new TemplateError({ ...place, template, reason }))
  if (name === "job") {
    return values.job === undefined ? refuse("no job was started in this session") : Either.right(values.job)
  }
  if (values.result === undefined) return refuse("no tool has returned anything in this session")
  const { tool } = values.result
  let found = values.result.value
  for (const key of name.split(".").slice(1)) {
    if (typeof found !== "object" || found === null || !isData(found, key)) {
      return refuse(`"${key}" is not in the newest result, of ${tool}: ${excerpt(values.result.value)}`)
    }
    found = (found as Readonly<Record<string, unknown>>)[key]
  }
  return Either.right(found)
}

/** Neither what objects inherit nor the length of an array. */
const isData = (value: object, key: string): boolean => Object.prototype.propertyIsEnumerable.call(value, key)

const toText = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

const excerpt = (value: unknown): string => {
  const json = JSON.stringify(value) ?? "nothing"
  return json.length > 200 ? `${json.slice(0, 200)}…` : json
}
