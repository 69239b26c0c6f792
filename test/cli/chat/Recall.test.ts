import { user } from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Recall from "@afterturn/cli/chat/Recall"
import * as Row from "@afterturn/cli/chat/Row"
import type * as Transcript from "@afterturn/cli/chat/Transcript"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as rig from "./rig.js"

const id = SessionId.make("s1")

const shown = ({ lines }: Transcript.Transcript): ReadonlyArray<string> =>
  lines.flatMap((line) => Row.rows(line, 100).map((row) => Row.encode(row, { color: false })))

/** A session of that many turns that nobody drives. */
const talked = (turns: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
      for (let turn = 1; turn <= turns; turn++) yield* agent.followup(user(`message ${turn}`))
      yield* agent.whenIdle
    })
  )

describe("recall", () => {
  it.live("shows the last turns and counts those before", () =>
    Effect.gen(function* () {
      yield* talked(4)
      const { nextSeq, transcript } = yield* Recall.recall(id, 2)
      assert.deepStrictEqual(shown(transcript), [
        "… 2 earlier turns (afterturn sessions show has all)",
        "",
        "› message 3",
        "Done.",
        "",
        "› message 4",
        "Done."
      ])
      assert.strictEqual(nextSeq, (yield* Effect.flatMap(SessionLog, (log) => log.lastSeq(id))) + 1)
    }).pipe(Effect.provide(rig.layer(rig.script)))
  )

  it.live("shows all of a short session", () =>
    Effect.gen(function* () {
      yield* talked(1)
      const { transcript } = yield* Recall.recall(id, 2)
      assert.deepStrictEqual(shown(transcript), ["", "› message 1", "Done."])
    }).pipe(Effect.provide(rig.layer(rig.script)))
  )

  it.live("knows what waits in the inbox, also from before what is shown", () =>
    Effect.gen(function* () {
      yield* talked(3)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* Effect.flatMap(Agents, (agents) => agents.resume(id))
          yield* agent.inject(user("for later"))
        })
      )
      const { transcript } = yield* Recall.recall(id, 1)
      assert.deepStrictEqual(
        transcript.waiting.map(({ content }) => content[0]?.text),
        ["for later"]
      )
    }).pipe(Effect.provide(rig.layer(rig.script)))
  )

  it.live("fails for a session that is not there", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(Recall.recall(id, 1)))._tag, "SessionNotFound")
    }).pipe(Effect.provide(rig.layer(rig.script)))
  )
})
