/**
 * Where traces, metrics and logs are sent, if anywhere.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CliError } from "./CliError.js"
import { usage } from "./CliError.js"
import { variable } from "./Database.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ExporterOptions {
  /** Of a collector that speaks OTLP over HTTP; `/v1/traces`, `/v1/metrics` and `/v1/logs` are below it. */
  readonly baseUrl: string
  /** Sent along, such as a token. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether spans hold what people and models said. */
  readonly content: boolean
}

/**
 * What `--otlp` names, else the standard variables: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`,
 * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` (`true`), and `OTEL_SDK_DISABLED` (`true`), which the option overrides.
 * `undefined`: nothing is sent.
 *
 * @since 0.1.0
 * @category accessors
 */
export const exporter = (given: string | undefined): Effect.Effect<ExporterOptions | undefined, CliError> =>
  Effect.gen(function* () {
    const endpoint = given ?? Option.getOrUndefined(yield* variable("OTEL_EXPORTER_OTLP_ENDPOINT"))
    const disabled = given === undefined && (yield* isTrue("OTEL_SDK_DISABLED"))
    if (endpoint === undefined || disabled) return undefined
    if (!isHttp(endpoint)) {
      const name = given === undefined ? "OTEL_EXPORTER_OTLP_ENDPOINT" : "--otlp"
      return yield* usage(`${name}: expected a URL such as http://localhost:4318, got ${JSON.stringify(endpoint)}`)
    }
    const headers = Option.getOrElse(yield* variable("OTEL_EXPORTER_OTLP_HEADERS"), () => "")
    return {
      baseUrl: endpoint.replace(/\/+$/, ""),
      headers: yield* readHeaders(headers),
      content: yield* isTrue("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
    }
  })

const isTrue = (name: string): Effect.Effect<boolean> =>
  Effect.map(variable(name), (value) => Option.getOrElse(value, () => "").toLowerCase() === "true")

const isHttp = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** `name=value,name=value`, values percent-encoded. They may be secret: an error shows none of it. */
const readHeaders = (text: string): Effect.Effect<Record<string, string>, CliError> =>
  Effect.try({
    try: () =>
      Object.fromEntries(
        text
          .split(",")
          .filter((pair) => pair.trim() !== "")
          .map((pair) => {
            const [, name, value] = /^\s*([\w-]+)\s*=(.*)$/.exec(pair) ?? []
            if (name === undefined || value === undefined) throw new Error("no pair")
            return [name, decodeURIComponent(value.trim())] as const
          })
      ),
    catch: () => usage("OTEL_EXPORTER_OTLP_HEADERS: expected name=value pairs, separated by commas")
  })
