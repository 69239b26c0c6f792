import { SessionEvent, SessionHeader, SessionId, seedLength } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

describe("a session id", () => {
  it("is safe in a path, a URL and a shell", () => {
    const isId = Schema.is(SessionId)
    for (const id of ["a", "0", "2026-03-09T06:30_x.y", "a".repeat(128)]) assert.isTrue(isId(id), id)
    for (const id of ["", ".", "..", "-a", "a/b", "a b", "a\n", "é", "a".repeat(129), "$a", "a\0"]) {
      assert.isFalse(isId(id), id)
    }
  })
})

describe("a header", () => {
  const header = { id: "s-1", version: 1, createdAt: "2026-03-09T06:30:00.000Z", delegationDepth: 0 }
  const decode = Schema.decodeUnknownSync(SessionHeader)

  it("counts the events of its parent's history", () => {
    assert.strictEqual(seedLength(decode(header)), 0)
    assert.strictEqual(seedLength(decode({ ...header, parent: "p-1", seedLength: 3 })), 3)
  })

  it("has nothing that is not of its version", () => {
    for (const over of [
      { version: 2 },
      { delegationDepth: -1 },
      { seedLength: 0.5 },
      { parent: "" },
      { title: undefined }
    ]) {
      assert.throws(() => decode({ ...header, ...over }))
    }
  })
})

describe("an event", () => {
  it("has a seq, a type and a time", () => {
    const isEvent = Schema.is(SessionEvent)
    const event = { seq: 0, type: "test/note", time: "2026-03-09T06:30:00.000Z", data: null }
    assert.isTrue(isEvent({ ...event, sourceEventSeqs: [0], ignorable: true }))
    for (const over of [{ seq: -1 }, { seq: 2 ** 53 }, { type: "" }, { time: "now" }, { sourceEventSeqs: [0.5] }]) {
      assert.isFalse(isEvent({ ...event, ...over }))
    }
  })
})
