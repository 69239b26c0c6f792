import { handler, Mailbox } from "@afterturn/session-log/Mailbox"
import * as Sql from "@afterturn/session-log/Mailbox/Sql"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqliteClient } from "@effect/sql-sqlite-node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as fc from "fast-check"
import { jsonTexts, nearly, nearlyText, runs, strings } from "../../support/hostile.js"

const session = "s1" as SessionId

const Pick = {
  name: "pick",
  input: Schema.Struct({ id: Schema.NonEmptyString, count: Schema.Int, reason: Schema.optional(Schema.String) }),
  answer: Schema.Struct({ picked: Schema.String })
}

const pick = handler(Pick, ({ id }) => Effect.succeed({ picked: id }))

const commands = [
  { name: "pick", input: { id: "bash-1", count: 2, reason: "enough" } },
  { name: "pick", input: { id: "bash-1", count: 2 } }
]

const answers = [
  { ok: true, value: { picked: "bash-1" } },
  { ok: false, detail: "no such job" }
]

const asText = (value: unknown): string => JSON.stringify(value) ?? "undefined"

const texts = (valid: ReadonlyArray<unknown>, wrap: (json: string) => string, count: { readonly numRuns: number }) => [
  ...strings,
  ...jsonTexts.flatMap((text) => [text, wrap(text)]),
  ...fc.sample(fc.oneof(nearly(valid).map(asText), nearlyText(valid.map(asText))), count)
]

const layer = Sql.layer().pipe(Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" })))

/** Runs an effect while virtual time goes on. */
const patiently = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    while ((yield* fiber.status)._tag !== "Done") yield* TestClock.adjust("200 millis")
    return yield* Fiber.join(fiber)
  })

describe("a mailbox", () => {
  it.scoped("answers whatever is left there, and serves on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mailbox = yield* Mailbox
      yield* Effect.forkScoped(mailbox.serve(session, [pick]))
      const letters = texts(commands, (input) => `{"name":"pick","input":${input}}`, runs(30, 2_000))
      for (const [id, command] of letters.entries()) {
        yield* sql`INSERT INTO afterturn_mailbox (id, session, command, created_at, expires_at)
          VALUES (${1_000_000 + id}, ${session}, ${command}, 0, ${Number.MAX_SAFE_INTEGER})`
      }
      const open = sql<{ count: number }>`SELECT count(*) AS count FROM afterturn_mailbox WHERE answer IS NULL`
      yield* patiently(
        Effect.repeat(Effect.zipLeft(open, Effect.sleep("1 seconds")), { until: ([row]) => row?.count === 0 })
      )
      for (const { answer } of yield* sql<{ answer: string }>`SELECT answer FROM afterturn_mailbox`) {
        assert.isBelow(answer.length, 20_000)
        const read = JSON.parse(answer)
        assert.strictEqual(typeof (read.ok ? read.value.picked : read.detail), "string")
      }
      const last = yield* patiently(mailbox.send(session, Pick, { id: "last", count: 1 }))
      assert.deepStrictEqual(last, { picked: "last" })
    }).pipe(Effect.provide(layer))
  )

  it.scoped("says of any answer that is none that it is broken", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mailbox = yield* Mailbox
      for (const answer of texts(answers, (value) => `{"ok":true,"value":${value}}`, runs(5, 500))) {
        const sending = yield* Effect.fork(Effect.either(mailbox.send(session, Pick, { id: "a", count: 1 })))
        yield* Effect.repeat(Effect.zipLeft(sql<{ id: number }>`SELECT id FROM afterturn_mailbox`, Effect.yieldNow()), {
          until: (rows) => rows.length > 0
        })
        yield* sql`UPDATE afterturn_mailbox SET answer = ${answer}, claimed_at = 1`
        const result = yield* patiently(Fiber.join(sending))
        if (result._tag === "Right") assert.strictEqual(typeof result.right.picked, "string")
        else assert.strictEqual(result.left._tag, "CommandUnanswered")
      }
    }).pipe(Effect.provide(layer))
  )
})
