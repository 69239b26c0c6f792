import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Args from "@effect/cli/Args"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import { invalidValue } from "@effect/cli/ValidationError"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { unescape } from "../Argv.js"

/** Reads what was typed, or says what was expected. */
type Parse<A> = (text: string) => Either.Either<A, string>

/** An option with a value. Its error names it. */
export const option = <A>(name: string, value: string, description: string, parse: Parse<A>) =>
  Options.optional(required(name, value, description, parse))

/** One that has to be there. */
export const required = <A>(name: string, value: string, description: string, parse: Parse<A>) =>
  Options.text(name).pipe(
    Options.withPseudoName(value),
    Options.withDescription(description),
    Options.mapEffect((text) =>
      Either.mapLeft(parse(text), (problem) => invalidValue(HelpDoc.p(`--${name}: ${problem}`)))
    )
  )

/** A positional argument, as `Argv` escaped it. */
export const argument = <A>(name: string, description: string, parse: Parse<A>) =>
  Args.text({ name }).pipe(
    Args.withDescription(description),
    Args.mapEffect((text) => Either.mapLeft(parse(unescape(text)), (problem) => HelpDoc.p(`${name}: ${problem}`)))
  )

/** An option without a value. */
export const flag = (name: string, description: string) =>
  Options.boolean(name).pipe(Options.withDescription(description))

export const anyText: Parse<string> = Either.right

export const nonEmpty: Parse<string> = (text) =>
  text === "" ? Either.left("expected some text, got none") : Either.right(text)

export const oneOf =
  <const Values extends ReadonlyArray<string>>(values: Values): Parse<Values[number]> =>
  (text) =>
    values.includes(text)
      ? Either.right(text)
      : Either.left(`expected one of ${values.join(", ")}, got ${JSON.stringify(text)}`)

export const sessionId: Parse<SessionId> = (text) =>
  Either.mapLeft(Schema.decodeEither(SessionId)(text), (error) => ParseResult.TreeFormatter.formatErrorSync(error))

export const positive: Parse<number> = (text) =>
  /^\d{1,15}$/.test(text) && Number(text) > 0
    ? Either.right(Number(text))
    : Either.left(`expected a number from 1, got ${JSON.stringify(text)}`)

export const port: Parse<number> = (text) =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535
    ? Either.right(Number(text))
    : Either.left(`expected a port, from 0 to 65535, got ${JSON.stringify(text)}`)

export const seq: Parse<number> = (text) =>
  /^(\d{1,15}|-1)$/.test(text)
    ? Either.right(Number(text))
    : Either.left(`expected a seq, or -1 for none, got ${JSON.stringify(text)}`)

export const terminalSize: Parse<{ readonly columns: number; readonly rows: number }> = (text) => {
  const [, columns, rows] = /^(\d{1,4})x(\d{1,4})$/.exec(text) ?? []
  return columns === undefined
    ? Either.left(`expected columns and rows such as 120x40, got ${JSON.stringify(text)}`)
    : Either.right({ columns: Number(columns), rows: Number(rows) })
}

export const keyNames: Parse<ReadonlyArray<string>> = (text) => {
  const names = text.split(",").map((name) => name.trim())
  return names.includes("")
    ? Either.left(`expected names of keys with commas between, such as ctrl-c,enter, got ${JSON.stringify(text)}`)
    : Either.right(names)
}

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

export const duration: Parse<Duration.Duration> = (text) => {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text) ?? []
  return amount === undefined
    ? Either.left(`expected a duration such as 500ms, 30s, 5m, 2h or 1d, got ${JSON.stringify(text)}`)
    : Either.right(Duration.millis(Number(amount) * units[unit as keyof typeof units]))
}
