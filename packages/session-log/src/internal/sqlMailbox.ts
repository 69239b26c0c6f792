import type { Connection } from "@effect/sql/SqlConnection"
import * as Effect from "effect/Effect"
import type { Letter, Letters } from "./mailbox.js"
import type { Database } from "./sqlDatabase.js"
import { query, run } from "./sqlDatabase.js"
import { nextNumber } from "./sqlSessions.js"

/** Milliseconds that a row whose sender died stays. */
const keepExpired = 3_600_000

export const makeSql = (database: Database): Letters => {
  const { dialect } = database
  const insert = dialect.text(
    "INSERT INTO afterturn_mailbox (id, session, command, created_at, expires_at) VALUES (?,?,?,?,?)"
  )
  const sweep = dialect.text("DELETE FROM afterturn_mailbox WHERE expires_at < ?")
  const selectAnswer = dialect.text("SELECT answer FROM afterturn_mailbox WHERE id = ?")
  const remove = dialect.text("DELETE FROM afterturn_mailbox WHERE id = ? RETURNING claimed_at, answer")
  const free = "session = ? AND claimed_at IS NULL AND expires_at > ?"
  const selectFree = dialect.text(`SELECT id FROM afterturn_mailbox WHERE ${free} ORDER BY id LIMIT 1`)
  // Two that choose the same row wait for each other, and the later finds it claimed.
  const claim = dialect.text(
    `UPDATE afterturn_mailbox SET claimed_at = ? WHERE id = (
      SELECT id FROM afterturn_mailbox WHERE ${free} ORDER BY id LIMIT 1
    ) AND claimed_at IS NULL RETURNING id, command`
  )
  const reply = dialect.text("UPDATE afterturn_mailbox SET answer = ?, answered_at = ? WHERE id = ?")

  const put = Effect.fnUntraced(function* (connection: Connection, letter: Letter) {
    yield* run(connection, sweep, [letter.createdAt - keepExpired])
    const id = yield* nextNumber(connection, dialect)
    yield* run(connection, insert, [id, letter.session, letter.command, letter.createdAt, letter.expiresAt])
    return id
  })

  return {
    put: (letter) => database.write((connection) => put(connection, letter)),
    answer: (id) =>
      Effect.map(
        database.read((connection) => query(connection, selectAnswer, [id])),
        ([row]) => (row?.answer ?? undefined) as string | undefined
      ),
    withdraw: (id) =>
      Effect.map(
        database.write((connection) => query(connection, remove, [id])),
        ([row]) =>
          row === undefined
            ? undefined
            : { claimed: row.claimed_at !== null, answer: (row.answer ?? undefined) as string | undefined }
      ),
    claim: (session, at) =>
      // Mostly there is nothing, and then nobody's lock is asked for.
      Effect.flatMap(
        database.read((connection) => query(connection, selectFree, [session, at])),
        (rows) =>
          rows.length === 0
            ? Effect.succeed(undefined)
            : Effect.map(
                database.write((connection) => query(connection, claim, [at, session, at])),
                ([row]) => (row === undefined ? undefined : { id: Number(row.id), command: row.command as string })
              )
      ),
    reply: (id, answer, at) => Effect.asVoid(database.write((connection) => run(connection, reply, [answer, at, id])))
  }
}
