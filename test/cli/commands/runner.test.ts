import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, workplace } from "../../support/afterturn.js"

describe("runner", () => {
  it.live(
    "wants a server, which send wants too",
    () =>
      Effect.gen(function* () {
        const { scripted } = yield* workplace
        const refused = yield* inProcess(["runner", ...scripted])
        assert.deepInclude(refused, { code: 2, stdout: "" })
        assert.match(refused.stderr, /--db: expected postgres:/)
        assert.deepInclude(yield* inProcess(["send", "s1", "hello", "--db", ":memory:"]), { code: 2, stdout: "" })
      }).pipe(Effect.scoped),
    60_000
  )
})
