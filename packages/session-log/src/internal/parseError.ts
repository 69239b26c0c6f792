import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { ParseOptions } from "effect/SchemaAST"
import { formatPath } from "./json.js"

/**
 * Decodes what may be anything, strictly unless said otherwise. The library throws where it looks for a union's member by a key whose value cannot be made
 * text, such as `{ "toString": null }`.
 */
export const decoder = <A, I>(
  schema: Schema.Schema<A, I>,
  options: ParseOptions = { onExcessProperty: "error" }
): ((value: unknown) => Either.Either<A, ParseResult.ParseError>) => {
  const decode = Schema.decodeUnknownEither(schema, options)
  return (value) => {
    try {
      return decode(value)
    } catch {
      return Either.left(ParseResult.parseError(new ParseResult.Type(schema.ast, value)))
    }
  }
}

/** Characters of a value that a message quotes, and of all faults together. */
const maxFault = 1_000
const maxText = 4_000

/** What a Schema has against a value, in one line of bounded length: each fault with the path below `root`. */
export const describe = (error: ParseResult.ParseError, root: string): string => {
  try {
    const faults = ParseResult.ArrayFormatter.formatErrorSync(error)
    return clip(
      faults.map(({ message, path }) => `${clip(message, maxFault)} at ${root}${formatPath(path)}`).join("; ")
    )
  } catch {
    // The formatter quotes the value, and overflows the stack on one that is nested some thousand levels deep.
    return `expected another value at ${root}, got one that is nested too deep to show`
  }
}

const clip = (text: string, most = maxText): string => (text.length <= most ? text : `${text.slice(0, most)}…`)
