import * as ParseResult from "effect/ParseResult"
import { formatPath } from "./json.js"

/** What a Schema has against a value, in one line: each fault with the path below `root`. */
export const describe = (error: ParseResult.ParseError, root: string): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map((issue) => `${issue.message} at ${root}${formatPath(issue.path)}`)
    .join("; ")
