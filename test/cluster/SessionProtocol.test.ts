import { SessionRefused, ShownOutput } from "@afterturn/cluster/SessionProtocol"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

describe("the protocol of a session", () => {
  it("carries output and refusals over the wire as they are", () => {
    const outputs: ReadonlyArray<typeof ShownOutput.Type> = [
      { _tag: "Text", turn: 1, step: 2, delta: "a\u0000\ud83d" },
      { _tag: "Retry", turn: 1, step: 2, message: "again" },
      { _tag: "Event", event: { seq: 0, type: "x/y", time: "2026-03-09T06:30:00.000Z", data: { deep: [null] } } }
    ].map((output) => Schema.decodeUnknownSync(ShownOutput)(output))
    for (const output of outputs) {
      const sent = JSON.parse(JSON.stringify(Schema.encodeSync(ShownOutput)(output)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(ShownOutput)(sent), output)
    }
    const refused = new SessionRefused({ code: "job_not_found", message: "no job" })
    assert.deepStrictEqual(
      Schema.decodeUnknownSync(SessionRefused)(Schema.encodeSync(SessionRefused)(refused)),
      refused
    )
  })
})
