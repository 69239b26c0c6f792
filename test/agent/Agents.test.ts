import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { AgentExtensions, Agents } from "@afterturn/agent/Agents"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const id = "s1" as SessionId

describe("extensions", () => {
  it.effect("come alive in order before the first turn and are released in reverse after the last", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const log = yield* SessionLog
      const extensions = yield* AgentExtensions
      for (const name of ["first", "second"]) {
        yield* extensions.register((agent) =>
          Effect.gen(function* () {
            seen.push(`${name} begins at ${yield* Effect.orDie(log.lastSeq(agent.id))}`)
            yield* Effect.addFinalizer(() => Effect.sync(() => void seen.push(`${name} ends`)))
          })
        )
      }
      const agents = yield* Agents
      const scope = yield* Scope.make()
      const agent = yield* Scope.extend(agents.create({ id }), scope)
      yield* agent.followup(AgentMessage.user("hi"))
      yield* agent.whenIdle
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(seen, ["first begins at -1", "second begins at -1", "second ends", "first ends"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )
})

describe("a session that cannot come alive", () => {
  it.effect("is refused by name, and leaves neither agent nor lease", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const log = yield* SessionLog
      assert.strictEqual((yield* Effect.flip(agents.resume(id)))._tag, "SessionNotFound")
      yield* log.create({ id })
      assert.strictEqual((yield* Effect.flip(agents.create({ id })))._tag, "SessionExists")
      assert.deepStrictEqual(yield* agents.list, [])
      const agent = yield* agents.resume(id)
      assert.strictEqual(yield* agents.get(id), agent)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )
})
