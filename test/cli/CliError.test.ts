import { InvalidModelRoute } from "@afterturn/agent/AgentModel"
import * as CliError from "@afterturn/cli/CliError"
import { SessionNotFound } from "@afterturn/session-log/SessionLogError"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"

const fields = ({ code, exit, message }: CliError.CliError) => ({ code, exit, message })

describe("CliError", () => {
  it("makes a code of another package's tag", () => {
    assert.deepStrictEqual(fields(CliError.fromError(new SessionNotFound({ sessionId: "s1" }))), {
      code: "session_not_found",
      exit: 1,
      message: 'no session "s1"'
    })
  })

  it("tells the store's reasons apart", () => {
    const error = new SessionStoreError({ reason: "not-a-database", message: "expected a database" })
    assert.strictEqual(CliError.fromError(error).code, "store_not_a_database")
  })

  it("takes a route that names no model for a wrong command line", () => {
    const { code, exit } = CliError.fromError(new InvalidModelRoute({ route: "x", reason: "expected another" }))
    assert.deepStrictEqual({ code, exit }, { code: "usage", exit: 2 })
  })

  it("leaves its own errors as they are", () => {
    const error = CliError.failure("max_wait", "stopped")
    assert.strictEqual(CliError.fromError(error), error)
  })

  it("keeps a message on one line and away from the terminal's controls", () => {
    assert.strictEqual(CliError.failure("x", " a\n\tb\u001b[31mc\r\n").message, "a b [31mc")
  })

  it("reads an error, a defect and nothing of an interruption out of a cause", () => {
    const error = CliError.usage("wrong")
    assert.strictEqual(Option.getOrThrow(CliError.fromCause(Cause.fail(error))), error)
    assert.deepStrictEqual(
      Option.map(CliError.fromCause(Cause.die(new Error("broken\npipe"))), fields),
      Option.some({ code: "internal_error", exit: 1, message: "unexpected: broken pipe" })
    )
    assert.deepStrictEqual(CliError.fromCause(Cause.interrupt(FiberId.none)), Option.none())
  })

  it("reports as a line of text or of JSON", () => {
    const error = CliError.failure("some_code", 'say "x"')
    assert.strictEqual(CliError.render(error, false), 'afterturn: say "x"')
    assert.deepStrictEqual(JSON.parse(CliError.render(error, true)), {
      error: { code: "some_code", message: 'say "x"' }
    })
  })
})
