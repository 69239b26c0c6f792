import { exporter } from "@afterturn/cli/Exporter"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"

const read = (given: string | undefined, env: Record<string, string> = {}) =>
  exporter(given).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)))))

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://env:4318/" }
const plain = { baseUrl: "http://env:4318", headers: {}, content: false }

describe("exporter", () => {
  it.effect("sends nothing unless it is told where to", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* read(undefined))
      assert.isUndefined(yield* read(undefined, { ...endpoint, OTEL_SDK_DISABLED: "true" }))
      assert.isUndefined(yield* read(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: "" }))
    })
  )

  it.effect("takes the option before the environment", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read(undefined, endpoint), plain)
      assert.deepStrictEqual(yield* read("https://given", { ...endpoint, OTEL_SDK_DISABLED: "true" }), {
        ...plain,
        baseUrl: "https://given"
      })
    })
  )

  it.effect("reads headers, and whether words may be sent", () =>
    Effect.gen(function* () {
      const more = {
        OTEL_EXPORTER_OTLP_HEADERS: "x-team=a%20b, authorization=Bearer%20t",
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true"
      }
      assert.deepStrictEqual(yield* read(undefined, { ...endpoint, ...more }), {
        ...plain,
        headers: { "x-team": "a b", authorization: "Bearer t" },
        content: true
      })
    })
  )

  it.effect("says what was expected, and shows no header", () =>
    Effect.gen(function* () {
      const refused = (given: string | undefined, env?: Record<string, string>) =>
        Effect.map(Effect.flip(read(given, env)), ({ exit, message }) => [exit, message] as const)
      assert.deepStrictEqual(yield* refused("localhost"), [
        2,
        '--otlp: expected a URL such as http://localhost:4318, got "localhost"'
      ])
      for (const headers of ["secret", "a=%zz"]) {
        assert.deepStrictEqual(yield* refused(undefined, { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers }), [
          2,
          "OTEL_EXPORTER_OTLP_HEADERS: expected name=value pairs, separated by commas"
        ])
      }
    })
  )
})
