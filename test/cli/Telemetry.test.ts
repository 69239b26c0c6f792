import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, workplace } from "../support/afterturn.js"
import * as ProviderStub from "../support/ProviderStub.js"

const collector = ProviderStub.make(() => ({ status: 200, body: {} }))

const sentTo = (stub: ProviderStub.ProviderStub, path: string): string =>
  JSON.stringify(stub.requests.filter((request) => request.path === path).map(({ body }) => body))

describe("--otlp", () => {
  it.live("sends spans of the turn, the model and its tools, and no word of what was said", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const stub = yield* collector
      const { code, stdout } = yield* inProcess(["run", "--otlp", `${stub.url}/`, ...place.scripted, "plan it"], {
        env: { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20t" }
      })
      assert.deepStrictEqual([code, stdout], [0, "Planning.\nPlanned.\n"])
      const spans = sentTo(stub, "/v1/traces")
      for (const part of [
        '"invoke_agent afterturn"',
        '"execute_tool todo_write"',
        '"gen_ai.usage.input_tokens"',
        '"afterturn"'
      ]) {
        assert.include(spans, part)
      }
      assert.match(spans, /"name":"chat [^"]*script\.json"/)
      for (const word of ["plan it", "Planned", "Read the changelog"]) assert.notInclude(spans, word)
      assert.include(sentTo(stub, "/v1/metrics"), '"gen_ai.client.operation.duration"')
      assert.strictEqual(stub.requests[0]?.headers.authorization, "Bearer t")
    }).pipe(Effect.scoped)
  )

  it.live("sends what was said where that is asked for", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const stub = yield* collector
      yield* inProcess(["run", ...place.scripted, "plan it"], {
        env: {
          OTEL_EXPORTER_OTLP_ENDPOINT: stub.url,
          OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true"
        }
      })
      const spans = sentTo(stub, "/v1/traces")
      assert.include(spans, "Read the changelog")
      assert.include(spans, "Planned")
    }).pipe(Effect.scoped)
  )

  it.live("is no reason to fail when nobody listens", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      // A port of a server that is gone.
      const { url } = yield* Effect.scoped(collector)
      const { code, stdout } = yield* inProcess(["run", "--otlp", url, ...place.scripted, "hello"])
      assert.deepStrictEqual([code, stdout], [0, "Done.\n"])
    }).pipe(Effect.scoped)
  )
})
