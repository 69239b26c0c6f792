/**
 * Names of time zones: `UTC`, or a name of the time zone database with a slash in it that the runtime knows.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { InvalidRule } from "./InvalidRule.js"
import { refuse } from "./InvalidRule.js"
import { shown } from "./internal/shown.js"
import { zoneOf } from "./internal/zone.js"
import { spelled, suggestionsFor } from "./internal/zoneNames.js"

const expected = "expected UTC or the name of an IANA time zone with a slash in it, like Europe/Berlin"

/**
 * Reads a name of a time zone and answers it in the letter case of the database. It stays the name that was given: `Asia/Kolkata`
 * does not become an alias of it. Abbreviations, offsets and names that the runtime does not know are refused as
 * `invalid_time_zone`, with names that may have been meant.
 *
 * @since 0.1.0
 * @category decoding
 */
export const parse = (name: unknown, path = "time_zone"): Either.Either<string, InvalidRule> => {
  if (typeof name !== "string") return refuse("invalid_time_zone", path, `${expected}, got ${shown(name)}`)
  if (isName(name) && zoneOf(spelled(name)) !== undefined) return Either.right(spelled(name))
  const suggestions = suggestionsFor(name).filter((candidate) => zoneOf(candidate) !== undefined)
  const hint = suggestions.length === 0 ? "" : `; did you mean ${suggestions.join(" or ")}?`
  return refuse("invalid_time_zone", path, `${expected}, got ${shown(name)}${hint}`, suggestions)
}

/** Some runtimes also take offsets, and names that only their own library has. */
const isName = (name: string): boolean =>
  /^utc$/i.test(name) || (/^[a-z][a-z0-9_+-]*(\/[a-z0-9_+-]+)+$/i.test(name) && !/^systemv\//i.test(name))

/**
 * The offset of a zone at an instant in milliseconds, in milliseconds east of UTC; `undefined` for a zone that the runtime does not
 * know.
 *
 * @since 0.1.0
 * @category accessors
 */
export const offsetAt = (zone: string, millis: number): number | undefined => zoneOf(zone)?.offsetAt(millis)
