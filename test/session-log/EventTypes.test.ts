import * as EventTypes from "@afterturn/session-log/EventTypes"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const Met = EventTypes.make("test/met", Schema.Struct({ at: Schema.Date, who: Schema.Array(Schema.String) }), {
  bracket: "open"
})
const Hint = EventTypes.make("test/hint", Schema.String, { ignorable: true })

describe("an event type", () => {
  it("makes events with encoded data", () => {
    assert.deepStrictEqual<unknown>(Met.make({ at: new Date(0), who: ["ada"] }), {
      type: "test/met",
      data: { at: "1970-01-01T00:00:00.000Z", who: ["ada"] }
    })
    assert.deepStrictEqual<unknown>(Hint.make("x", { sourceEventSeqs: [1] }), {
      type: "test/hint",
      data: "x",
      ignorable: true,
      sourceEventSeqs: [1]
    })
    assert.throws(() => Hint.make(1 as unknown as string), /Expected string/)
  })

  it("makes events that nobody can change", () => {
    const who = ["ada"]
    const sources = [1]
    const event = Met.make({ at: new Date(0), who }, { sourceEventSeqs: sources })
    who.push("bob")
    sources.push(2)
    const data = event.data as { who: Array<string> }
    assert.throws(() => data.who.push("eve"), TypeError)
    assert.throws(() => Object.assign(event, { data: 1 }), TypeError)
    assert.deepStrictEqual(data.who, ["ada"])
    assert.deepStrictEqual(event.sourceEventSeqs, [1])
  })

  it("does not freeze what it was given", () => {
    const Any = EventTypes.make("test/any", Schema.Unknown)
    const given = { deep: { list: [1] } }
    Any.make(given)
    given.deep.list.push(2)
    assert.deepStrictEqual(given.deep.list, [1, 2])
  })

  it("decodes strictly, and says in a line what is wrong", () => {
    const event = { seq: 0, type: "test/met", time: "1970-01-01T00:00:00.000Z" }
    const decoded = Met.decode({ ...event, data: { at: "1970-01-01T00:00:00.000Z", who: [] } })
    assert.deepStrictEqual(Either.getOrThrow(decoded), { at: new Date(0), who: [] })
    assert.isTrue(Either.isLeft(Met.decode({ ...event, data: { at: "1970-01-01T00:00:00.000Z", who: [], more: 1 } })))
    assert.isUndefined(Hint.problem("x"))
    assert.strictEqual(Hint.problem(1), "Expected string, actual 1 at data")
    assert.strictEqual(
      Met.problem({ at: "1970-01-01T00:00:00.000Z", who: ["ada", 2] }),
      "Expected string, actual 2 at data.who[1]"
    )
  })
})

describe("a registry of event types", () => {
  it.effect("knows what was registered", () =>
    Effect.gen(function* () {
      const registry = yield* EventTypes.EventTypes
      assert.isUndefined(registry.get("test/other"))
      assert.strictEqual(registry.get("test/met"), Met)
      assert.deepStrictEqual(registry.bracketed(), [Met])
    }).pipe(Effect.provide(Layer.provideMerge(EventTypes.layerRegister(Met, Hint), EventTypes.layer)))
  )

  it.effect("takes a type twice, but not two types of one name", () =>
    Effect.gen(function* () {
      const registry = yield* EventTypes.EventTypes
      yield* registry.register(Hint)
      yield* registry.register(Hint)
      const exit = yield* Effect.exit(registry.register(EventTypes.make("test/hint", Schema.Int)))
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(registry.get("test/hint"), Hint)
    }).pipe(Effect.provide(EventTypes.layer))
  )
})
