import * as ToolInput from "@afterturn/agent/ToolInput"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

const TodoWrite = Schema.Struct({
  todos: Schema.Array(
    Schema.Struct({
      content: Schema.NonEmptyString.annotations({ description: "What is to be done", examples: ["write the report"] }),
      status: Schema.Literal("pending", "in_progress", "completed")
    })
  )
})

const Zoned = Schema.Struct({ time: Schema.String, time_zone: Schema.String })

const ScheduleCreate = Schema.Struct({
  prompt: Schema.String,
  after_seconds: Schema.optional(Schema.Int.pipe(Schema.positive())),
  ratio: Schema.optional(Schema.Number),
  enabled: Schema.optional(Schema.Boolean),
  days: Schema.optional(Schema.Array(Schema.String)),
  weekdays: Schema.optional(Schema.Array(Schema.Int.pipe(Schema.between(1, 7)))),
  daily: Schema.optional(Schema.Struct({ ...Zoned.fields, until: Schema.optional(Schema.String) })),
  at: Schema.optional(Schema.Union(Schema.String, Schema.Struct({ date: Schema.String, time: Schema.String }))),
  line: Schema.optional(Schema.NullOr(Schema.Int)),
  timeout_ms: Schema.optionalWith(Schema.NumberFromString, { default: () => 5 }),
  extra: Schema.optional(Schema.Unknown),
  labels: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String }))
})

interface Tree {
  readonly name: string
  readonly children: ReadonlyArray<Tree>
}
const Tree: Schema.Schema<Tree> = Schema.Struct({
  name: Schema.String,
  children: Schema.Array(Schema.suspend((): Schema.Schema<Tree> => Tree))
})

type Expression =
  | { readonly op: "number"; readonly value: number }
  | { readonly op: "add" | "multiply"; readonly left: Expression; readonly right: Expression }
const Expression: Schema.Schema<Expression> = Schema.Union(
  Schema.Struct({ op: Schema.Literal("number"), value: Schema.Number }),
  Schema.Struct({
    op: Schema.Literal("add", "multiply"),
    left: Schema.suspend((): Schema.Schema<Expression> => Expression),
    right: Schema.suspend((): Schema.Schema<Expression> => Expression)
  })
)

const accepted = <A, I>(schema: Schema.Schema<A, I>, input: unknown) => {
  const result = ToolInput.decode("tool", schema, input)
  if (Either.isLeft(result)) return assert.fail(`refused: ${result.left.message}`)
  return result.right
}

const refused = <A, I>(schema: Schema.Schema<A, I>, input: unknown) => {
  const result = ToolInput.decode("tool", schema, input)
  if (Either.isRight(result)) return assert.fail(`accepted: ${JSON.stringify(result.right)}`)
  assert.strictEqual(result.left.code, "invalid_arguments")
  assert.include(result.left.message, "tool: ")
  return result.left
}

const create = (rest: object) => ({ prompt: "p", ...rest })

describe("ToolInput", () => {
  describe("JSON text", () => {
    it("reads a list sent as JSON text and says so", () => {
      const { notes, value } = accepted(TodoWrite, { todos: '[{"content":"Test todo","status":"completed"}]' })
      assert.deepStrictEqual(value, { todos: [{ content: "Test todo", status: "completed" }] })
      assert.deepStrictEqual(notes, ["todos: a JSON string was read as an array"])
    })

    it("reads all of the arguments, and text within text", () => {
      const { notes, value } = accepted(
        ScheduleCreate,
        JSON.stringify(create({ daily: '{"time":"09:00","time_zone":"UTC"}', weekdays: '[1,"3"]' }))
      )
      assert.deepStrictEqual(value as unknown, {
        prompt: "p",
        weekdays: [1, 3],
        daily: { time: "09:00", time_zone: "UTC" }
      })
      assert.strictEqual(notes.length, 3)
      assert.strictEqual(notes[0], "the arguments: a JSON string was read as an object")
    })

    it("refuses quotes that are not JSON and never evaluates", () => {
      const error = refused(TodoWrite, { todos: "[{'content': 'a', 'status': 'pending'}]" })
      assert.strictEqual(error.path, "todos")
      assert.include(error.message, "todos must be an array")
      assert.include(error.message, "{'content': 'a'")
      assert.include(error.message, '{"todos":[{"content":"write the report","status":"pending"}]}')
      refused(TodoWrite, "({ todos: [] })")
      refused(TodoWrite, "[globalThis.process.exit(1)]")
    })

    it("refuses text of another kind", () => {
      const error = refused(TodoWrite, { todos: '{"id":"1"}' })
      assert.strictEqual(error.path, "todos")
      assert.strictEqual(error.received, '"{\\"id\\":\\"1\\"}"')
      refused(TodoWrite, "5")
      refused(TodoWrite, '"{}"')
    })

    it("keeps text where a string belongs", () => {
      assert.deepStrictEqual(accepted(ScheduleCreate, { prompt: "[1]", at: '{"date":"x","time":"y"}' }), {
        value: { prompt: "[1]", at: '{"date":"x","time":"y"}' },
        notes: []
      })
    })
  })

  describe("absence", () => {
    it("takes missing, null and blank arguments for none", () => {
      for (const input of [undefined, null, "", " \n", {}, "{}"]) {
        assert.deepStrictEqual(accepted(Schema.Struct({}), input).value, {})
      }
    })

    it("drops null for an optional key at every depth", () => {
      const { value } = accepted(
        ScheduleCreate,
        create({ at: null, after_seconds: null, daily: { time: "t", time_zone: "z", until: null }, timeout_ms: null })
      )
      assert.deepStrictEqual(value as unknown, { prompt: "p", daily: { time: "t", time_zone: "z" } })
    })

    it("keeps null where the Schema has it", () => {
      assert.deepStrictEqual(accepted(ScheduleCreate, create({ line: null, extra: null })).value, {
        prompt: "p",
        line: null,
        extra: null
      })
    })

    it("names a required key that is null or missing", () => {
      assert.strictEqual(refused(ScheduleCreate, { prompt: null }).path, "prompt")
      assert.include(refused(ScheduleCreate, { prompt: null }).message, "prompt must be a string; received null")
      assert.strictEqual(refused(ScheduleCreate, {}).path, "prompt")
      assert.strictEqual(refused(ScheduleCreate, create({ daily: { time: "t" } })).path, "daily.time_zone")
    })

    it("names the place of what is missing in a list", () => {
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        [{}, "todos"],
        [{ todos: null }, "todos"],
        [{ todos: [null] }, "todos[0]"],
        [{ todos: [42] }, "todos[0]"],
        [{ todos: [{ content: "a" }] }, "todos[0].status"],
        [{ todos: [{ content: "", status: "pending" }] }, "todos[0].content"]
      ]
      for (const [input, path] of cases) assert.strictEqual(refused(TodoWrite, input).path, path)
      assert.deepStrictEqual(accepted(TodoWrite, { todos: [] }).value, { todos: [] })
    })
  })

  describe("numbers and booleans as text", () => {
    it("reads plain decimal notation", () => {
      assert.strictEqual(accepted(ScheduleCreate, create({ after_seconds: "90" })).value.after_seconds, 90)
      assert.strictEqual(accepted(ScheduleCreate, create({ after_seconds: " 60 " })).value.after_seconds, 60)
      assert.strictEqual(accepted(ScheduleCreate, create({ ratio: "-1.5" })).value.ratio, -1.5)
      assert.strictEqual(accepted(ScheduleCreate, create({ line: "7" })).value.line, 7)
    })

    it("refuses other texts with the path and an example", () => {
      for (const text of ["1.5", "30 seconds", "", "abc", "1e3", "0x10", "+5", "007", "5.0", "９", "9".repeat(20)]) {
        const error = refused(ScheduleCreate, create({ after_seconds: text }))
        assert.strictEqual(error.path, "after_seconds")
        assert.strictEqual(error.expected, "an integer greater than 0")
        assert.include(error.message, '"after_seconds":1')
      }
      for (const text of ["", "Infinity", "NaN", "1e3", ".5"]) refused(ScheduleCreate, create({ ratio: text }))
      assert.strictEqual(refused(ScheduleCreate, create({ after_seconds: 1.5 })).expected, "an integer greater than 0")
    })

    it("makes -0 a 0", () => {
      assert.isTrue(Object.is(accepted(ScheduleCreate, create({ ratio: -0 })).value.ratio, 0))
      assert.isTrue(Object.is(accepted(ScheduleCreate, create({ ratio: "-0" })).value.ratio, 0))
      const { extra } = accepted(ScheduleCreate, create({ extra: [-0] })).value
      assert.isTrue(Array.isArray(extra) && Object.is(extra[0], 0))
    })

    it("reads true and false and nothing else as booleans", () => {
      assert.strictEqual(accepted(ScheduleCreate, create({ enabled: "true" })).value.enabled, true)
      assert.strictEqual(accepted(ScheduleCreate, create({ enabled: "false" })).value.enabled, false)
      for (const value of ["yes", "True", "", "1", 1, 0]) {
        const error = refused(ScheduleCreate, create({ enabled: value }))
        assert.strictEqual(error.path, "enabled")
        assert.include(error.message, '"enabled":true')
      }
    })

    it("refuses numbers and booleans for strings", () => {
      const error = refused(ScheduleCreate, { prompt: 5 })
      assert.include(error.message, 'prompt must be a string; put it in quotes: "5"; received 5')
      refused(ScheduleCreate, { prompt: true })
      refused(ScheduleCreate, { prompt: {} })
    })
  })

  describe("lists", () => {
    it("asks for brackets around a single item, with the same text each time", () => {
      const input = { todos: { content: "write report", status: "pending" } }
      const { message } = refused(TodoWrite, input)
      assert.include(message, "todos must be an array; wrap the item in [ ]")
      assert.strictEqual(refused(TodoWrite, input).message, message)
    })

    it("refuses a bare word with an example", () => {
      const error = refused(ScheduleCreate, create({ days: "mon" }))
      assert.include(error.message, 'days must be an array; wrap the item in [ ]; received "mon"')
      assert.include(error.message, '"days":["text"]')
    })

    it("counts the items of a tuple", () => {
      const Range = Schema.Struct({ range: Schema.Tuple(Schema.Int, Schema.Int) })
      assert.deepStrictEqual(accepted(Range, { range: ["1", 2] }).value, { range: [1, 2] })
      assert.include(refused(Range, { range: [1] }).message, "range must be an array of exactly 2 items")
      assert.include(refused(Range, { range: [1, 2, 3] }).message, "received 3 items")
    })

    it("asks a non-empty list for an item", () => {
      const error = refused(Schema.Struct({ ids: Schema.NonEmptyArray(Schema.String) }), { ids: [] })
      assert.include(error.message, "ids must be an array of at least 1 item")
    })
  })

  describe("keys", () => {
    it("refuses an unknown key and names the one that was meant", () => {
      const error = refused(TodoWrite, { todos: [{ contents: "b", status: "pending" }] })
      assert.strictEqual(error.path, "todos[0].contents")
      assert.include(error.message, 'unknown key "contents" in todos[0]; did you mean "content"')
      assert.include(error.message, "only the keys content, status are allowed")
      assert.notInclude(error.message, "missing")
    })

    it("knows other spellings of a name", () => {
      for (const key of ["timeoutMs", "TIMEOUT-MS", "timeout_sm", "timeout"]) {
        assert.include(refused(ScheduleCreate, create({ [key]: 1 })).message, 'did you mean "timeout_ms"')
      }
      assert.notInclude(refused(TodoWrite, { todos: [], todo: [] }).message, "did you mean")
      for (const key of ["zzz", "", "x".repeat(10_000)]) {
        assert.notInclude(refused(ScheduleCreate, create({ [key]: 1 })).message, "did you mean")
      }
    })

    it("does not mistake inherited names for keys", () => {
      for (const key of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
        const input = JSON.parse(`{"prompt":"p","${key}":{"polluted":true}}`) as unknown
        assert.strictEqual(refused(ScheduleCreate, input).path, key)
      }
      refused(ScheduleCreate, JSON.parse('{"prompt":"p","labels":{"__proto__":"x"}}'))
      assert.isUndefined(({} as { polluted?: unknown }).polluted)
    })

    it("takes no keys for a tool without parameters", () => {
      assert.include(refused(Schema.Struct({}), { a: 1 }).message, 'unknown key "a"; no keys are allowed')
      refused(Schema.Struct({}), [])
      refused(Schema.Struct({}), 5)
    })

    it("takes any key of a record and checks its value", () => {
      const { value } = accepted(ScheduleCreate, create({ labels: { constructor: "a", "b c": "d" } }))
      assert.deepStrictEqual(value.labels, { constructor: "a", "b c": "d" } as never)
      assert.strictEqual(refused(ScheduleCreate, create({ labels: { "b c": 1 } })).path, 'labels["b c"]')
    })
  })

  describe("unions", () => {
    it("lists the values of an enumeration and the one that was meant", () => {
      const error = refused(TodoWrite, { todos: [{ content: "a", status: "Pending" }] })
      assert.strictEqual(error.path, "todos[0].status")
      assert.strictEqual(error.expected, 'one of "pending", "in_progress", "completed"')
      assert.include(error.message, 'did you mean "pending"')
      assert.include(error.message, 'received "Pending"')
    })

    it("takes a value as it is before it reads one", () => {
      const Either_ = Schema.Struct({ x: Schema.Union(Schema.Int, Schema.String, Schema.Boolean) })
      for (const x of ["5", "true", 5, true]) assert.deepStrictEqual(accepted(Either_, { x }).value, { x })
    })

    it("refuses what could be read in two ways", () => {
      const Ambiguous = Schema.Struct({
        x: Schema.Union(
          Schema.Struct({ n: Schema.Int, s: Schema.optional(Schema.String) }),
          Schema.Struct({ n: Schema.String, s: Schema.optional(Schema.Int) })
        )
      })
      assert.include(refused(Ambiguous, { x: { n: "1", s: "2" } }).message, "more than one way")
      assert.deepStrictEqual(accepted(Ambiguous, { x: { n: "1", s: 2 } }).value, { x: { n: "1", s: 2 } })
    })

    it("tells the problem of the member that was meant", () => {
      assert.strictEqual(refused(ScheduleCreate, create({ at: { date: "2026-01-01" } })).path, "at.time")
      const error = refused(ScheduleCreate, create({ at: 5 }))
      assert.strictEqual(error.expected, 'a string or an object with "date" and "time"')
      const deep = { op: "add", left: { op: "number", value: 1 }, right: { op: "number", value: "x" } }
      assert.strictEqual(refused(Schema.Struct({ e: Expression }), { e: deep }).path, "e.right.value")
    })

    it("reads inside recursive unions without multiplying the work", () => {
      let expression: unknown = { op: "number", value: "1" }
      for (let i = 0; i < 60; i++) {
        expression = { op: "add", left: expression, right: { op: "number", value: 2 } }
      }
      accepted(Schema.Struct({ e: Expression }), { e: expression })
    })
  })

  describe("the Schema's own checks", () => {
    it("says what a check says", () => {
      const Custom = Schema.Struct({
        time: Schema.String.pipe(
          Schema.filter((text) => /^\d\d:\d\d$/.test(text), { description: "a time like 09:30" })
        ),
        code: Schema.String.pipe(Schema.pattern(/^[a-z]+$/, { message: () => "use lower-case letters" }))
      })
      assert.strictEqual(refused(Custom, { time: "9", code: "a" }).expected, "a time like 09:30")
      assert.include(refused(Custom, { time: "09:30", code: "A" }).message, "code: use lower-case letters")
      assert.notInclude(refused(Custom, { time: "9", code: "a" }).message, "example")
    })

    it("says all that is wanted, whichever check failed", () => {
      const Code = Schema.Struct({
        code: Schema.String.pipe(Schema.minLength(2), Schema.maxLength(5), Schema.pattern(/^[a-z]*$/))
      })
      for (const code of ["a", "abcdef", "AB"]) {
        assert.strictEqual(refused(Code, { code }).expected, "a string of 2 to 5 characters that matches ^[a-z]*$")
      }
    })

    it("says what a check on several keys says", () => {
      const One = ScheduleCreate.pipe(
        Schema.filter(
          (value) =>
            (value.at === undefined) !== (value.after_seconds === undefined) || "give exactly one of at, after_seconds"
        )
      )
      const error = refused(One, create({ at: "x", after_seconds: 5 }))
      assert.strictEqual(error.path, "")
      assert.include(error.message, "tool: give exactly one of at, after_seconds")
      accepted(One, create({ at: "x", after_seconds: null }))
    })

    it("says what a decoding says, at its path", () => {
      const When = Schema.Struct({ when: Schema.DateTimeUtc, n: Schema.NumberFromString })
      const error = refused(When, { when: "tomorrow", n: "5" })
      assert.strictEqual(error.path, "when")
      assert.include(error.message, "tomorrow")
      assert.deepStrictEqual(accepted(When, { when: "2026-01-01T00:00:00Z", n: "5" }).value, {
        when: "2026-01-01T00:00:00Z",
        n: "5"
      })
    })

    it("reports at most three problems, in order, and counts the rest", () => {
      const todos = [{ content: 1, status: "pending" }, 2, { content: "c", status: "x" }, 4, 5]
      const { message } = refused(TodoWrite, { todos })
      assert.match(message, /\(1\) todos\[0\]\.content .*\(2\) todos\[1\] .*\(3\) todos\[2\]\.status .*and 2 more/)
      const checks = refused(ScheduleCreate, create({ weekdays: [0, 8, 9, 10] })).message
      assert.match(checks, /\(1\) weekdays\[0\] must be an integer from 1 to 7; received 0.*and 1 more/)
    })

    it("leaves what needs services to the handler", () => {
      class Service extends Context.Tag("Service")<Service, string>() {}
      const Effectful = Schema.Struct({
        x: Schema.transformOrFail(Schema.String, Schema.String, {
          strict: true,
          decode: (text) => Effect.map(Service, (suffix) => text + suffix),
          encode: Effect.succeed
        })
      })
      assert.deepStrictEqual(
        ToolInput.decode("tool", Effectful, { x: "a" }),
        Either.right({ value: { x: "a" }, notes: [] })
      )
      assert.isTrue(Either.isLeft(ToolInput.decode("tool", Effectful, { x: 1 })))
    })
  })

  describe("what is no JSON", () => {
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    const throwing = Object.defineProperty({}, "prompt", {
      enumerable: true,
      get: () => {
        throw new Error("secret")
      }
    })
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    const endless = (): object =>
      new Proxy(
        {},
        {
          ownKeys: () => ["a", "b"],
          getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
          get: endless
        }
      )
    let deep: unknown = 1
    for (let i = 0; i < 50_000; i++) deep = i % 2 === 0 ? [deep] : { deep }
    const nonsense: ReadonlyArray<unknown> = [
      NaN,
      Infinity,
      new Date(Number.NaN),
      () => 1,
      Symbol("s"),
      1n,
      new Map(),
      cyclic,
      throwing,
      revoked.proxy,
      endless(),
      deep,
      new Array(1e9),
      [undefined],
      new Array(2),
      "[".repeat(50_000) + "]".repeat(50_000),
      "[".repeat(1_000_000),
      "x".repeat(1 << 20)
    ]

    it("gives the typed error wherever it stands", () => {
      for (const value of nonsense) {
        refused(TodoWrite, value)
        refused(TodoWrite, { todos: value })
        refused(TodoWrite, { todos: [{ content: "a", status: value }] })
        const error = refused(ScheduleCreate, create({ after_seconds: value }))
        assert.isAtMost(error.received.length, 200)
        assert.isBelow(error.message.length, 2_000)
        if (typeof value !== "string") refused(ScheduleCreate, create({ extra: { value } }))
      }
      assert.include(refused(ScheduleCreate, create({ after_seconds: NaN })).message, "received NaN")
      assert.include(refused(ScheduleCreate, create({ extra: [new Date(0)] })).message, "extra[0] must be JSON data")
      assert.notInclude(refused(ScheduleCreate, throwing).message, "secret")
    })

    it("reads each property once", () => {
      let reads = 0
      const input = {
        get prompt() {
          reads++
          return reads === 1 ? "first" : 5
        }
      }
      assert.strictEqual(accepted(ScheduleCreate, input).value.prompt, "first")
      assert.strictEqual(reads, 1)
    })

    it("takes the text of a large file and the depth of real data", () => {
      accepted(ScheduleCreate, { prompt: "x".repeat(1 << 20) })
      accepted(Schema.Struct({ todos: Schema.Array(Schema.Int) }), {
        todos: Array.from({ length: 100_000 }, (_, i) => i)
      })
      let nested: Tree = { name: "leaf", children: [] }
      for (let i = 0; i < 25; i++) nested = { name: "branch", children: [nested] }
      assert.deepStrictEqual(accepted(Tree, nested).value, nested)
    })

    it("shows what it received without the characters that disguise text", () => {
      const { message } = refused(ScheduleCreate, create({ enabled: "\u001b[31m\u202e\ud800\u0000" }))
      assert.include(message, '"\\u001b[31m\\u202e\\ud800\\u0000"')
      assert.notMatch(message, /[\u0000-\u001f\u202e]/)
    })

    it("is data that survives encoding", () => {
      const error = refused(TodoWrite, { todos: 5 })
      const encoded = Schema.encodeSync(ToolInput.ToolInputError)(error)
      assert.deepStrictEqual(Schema.decodeSync(ToolInput.ToolInputError)(encoded).message, error.message)
    })
  })

  describe("for any input", () => {
    const schemas: ReadonlyArray<Schema.Schema<unknown, unknown>> = [
      TodoWrite,
      ScheduleCreate,
      Tree,
      Schema.Struct({ e: Expression }),
      Schema.Struct({ tree: Schema.optional(Tree), any: Schema.Unknown }),
      Schema.Union(Schema.Struct({ a: Schema.Int }), Schema.Struct({ b: Schema.optional(Schema.Boolean) }))
    ] as never

    const holds = (schema: Schema.Schema<unknown, unknown>, input: unknown) => {
      const result = ToolInput.decode("tool", schema, input)
      if (Either.isRight(result)) {
        const strict = Schema.decodeUnknownEither(schema, { onExcessProperty: "error" })(result.right.value)
        assert.isTrue(Either.isRight(strict))
      } else {
        assert.isAtMost(result.left.received.length, 200)
        assert.isAtMost(result.left.path.length, 200)
        assert.isBelow(result.left.message.length, 4_000)
        const again = ToolInput.decode("tool", schema, input)
        assert.strictEqual(Either.isLeft(again) ? again.left.message : "accepted", result.left.message)
      }
    }

    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true
    })

    /** Nonsense in the right places: keys that the Schemas know, values that they do not expect. */
    const nearly = (leaf: fc.Arbitrary<unknown>) =>
      fc.letrec((tie) => ({
        any: fc.oneof({ maxDepth: 4 }, leaf, tie("object"), fc.array(tie("any"), { maxLength: 3 })),
        object: fc.dictionary(
          fc.constantFrom(
            "todos",
            "content",
            "status",
            "prompt",
            "at",
            "e",
            "op",
            "left",
            "value",
            "name",
            "children",
            "a"
          ),
          tie("any"),
          { maxKeys: 4 }
        )
      })).object

    it("answers, and what it accepts the Schema accepts", () => {
      const leaves = fc.oneof(
        fc.jsonValue(),
        fc.json(),
        fc.constantFrom("pending", "add", "number", "5", "true", "[]", null)
      )
      fc.assert(
        fc.property(fc.oneof(nearly(leaves), fc.jsonValue(), fc.json(), anything, nearly(anything)), (input) => {
          for (const schema of schemas) holds(schema, input)
        }),
        { numRuns: 120 }
      )
    })

    it("takes valid data unchanged and without notes", () => {
      // Of recursive Schemas `Arbitrary` makes values without bound.
      const { expression, tree } = fc.letrec((tie) => ({
        number: fc.record({ op: fc.constant("number"), value: fc.integer() }),
        expression: fc.oneof(
          { maxDepth: 4 },
          tie("number"),
          fc.record({ op: fc.constantFrom("add", "multiply"), left: tie("expression"), right: tie("expression") })
        ),
        tree: fc.record({ name: fc.string(), children: tie("children") }),
        children: fc.oneof({ maxDepth: 4 }, fc.constant([]), fc.array(tie("tree"), { maxLength: 3 }))
      }))
      const valid: ReadonlyArray<readonly [Schema.Schema<unknown, unknown>, fc.Arbitrary<unknown>]> = [
        ...[TodoWrite, ScheduleCreate].map((schema) => [
          schema,
          Arbitrary.make(Schema.encodedBoundSchema(schema as never))
        ]),
        [Tree, tree],
        [Schema.Struct({ e: Expression }), fc.record({ e: expression })],
        [Schema.Struct({ any: Schema.Unknown }), fc.record({ any: fc.jsonValue() })]
      ] as never
      for (const [schema, values] of valid) {
        fc.assert(
          fc.property(values, (generated) => {
            const text = JSON.stringify(generated)
            fc.pre(!text.includes("__proto__"))
            const value = JSON.parse(text) as unknown
            // What JSON can't say became something else, which may not be valid.
            fc.pre(Either.isRight(Schema.decodeUnknownEither(schema, { onExcessProperty: "error" })(value)))
            assert.deepStrictEqual(accepted(schema, value), { value, notes: [] })
          }),
          { numRuns: 60 }
        )
      }
    })

    it("reads each harmless form as the value that it stands for", () => {
      const Plain = Schema.Struct({
        n: Schema.Int,
        r: Schema.JsonNumber.pipe(Schema.filter((n) => !String(n).includes("e") && Math.abs(n) < 1e15)),
        flag: Schema.Boolean,
        word: Schema.String,
        choice: Schema.Literal("a", "b"),
        list: Schema.Array(
          Schema.Struct({ n: Schema.Int, inner: Schema.optionalWith(Schema.Array(Schema.Boolean), { exact: true }) })
        ),
        maybe: Schema.optionalWith(Schema.Boolean, { exact: true }),
        kind: Schema.NullOr(Schema.Struct({ x: Schema.Int }))
      })
      const spell = (value: unknown, pick: () => boolean): unknown => {
        if (typeof value === "number" || typeof value === "boolean") return pick() ? String(value) : value
        if (typeof value !== "object" || value === null) return value
        const spelt = Array.isArray(value)
          ? value.map((item) => spell(item, pick))
          : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, spell(member, pick)]))
        return pick() ? JSON.stringify(spelt) : spelt
      }
      fc.assert(
        fc.property(Arbitrary.make(Plain), fc.infiniteStream(fc.boolean()), (generated, picks) => {
          const value = JSON.parse(JSON.stringify(generated)) as object
          const pick = () => picks.next().value as boolean
          const sent = spell({ ...value, ...("maybe" in value ? {} : { maybe: pick() ? null : undefined }) }, pick)
          assert.deepStrictEqual(accepted(Plain, sent).value as unknown, value)
        }),
        { numRuns: 120 }
      )
    })
  })
})
