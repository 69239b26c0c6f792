import type * as Context from "effect/Context"
import type { Output } from "../Output.js"

type Surface = Pick<Context.Tag.Service<Output>, "terminal">

/** A value as JSON on one line. */
export const jsonText = (value: unknown, surface: Surface): string => inert(JSON.stringify(value), surface)

/** JSON leaves some controls as they are, which a terminal obeys: there they are written as escapes, which read the same. */
export const inert = (json: string, { terminal }: Surface): string =>
  terminal ? json.replaceAll(/[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, escape) : json

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
