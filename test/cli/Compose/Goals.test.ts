import * as fs from "node:fs"
import * as path from "node:path"
import { layerCheck } from "@afterturn/cli/Compose/Goals"
import { shell } from "@afterturn/cli/Compose/Jobs"
import type { GoalRecord } from "@afterturn/goals/Goal"
import { GoalReferee } from "@afterturn/goals/GoalReferee"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Temporary from "../../support/temporary.js"

const goal = { objective: "ship it" } as GoalRecord

const judge = (command: string, workdir: string) =>
  Effect.flatMap(GoalReferee, (referee) => referee.judge(SessionId.make("s1"), goal)).pipe(
    Effect.provide(layerCheck(command, workdir).pipe(Layer.provide(shell)))
  )

describe("a check", () => {
  it.live("agrees when the command exits 0, where it was told to run", () =>
    Effect.gen(function* () {
      const folder = yield* Temporary.folder
      fs.writeFileSync(path.join(folder, "done"), "")
      assert.deepStrictEqual(yield* judge("test -f done", folder), { agrees: true })
    }).pipe(Effect.scoped)
  )

  it.live("says how the command ended and what it said last, without what would move a cursor", () =>
    Effect.gen(function* () {
      const folder = yield* Temporary.folder
      const verdict = yield* judge("seq 9999; printf '2 tests \\e[31mfail'; exit 3", folder)
      const reason = verdict.agrees ? "" : verdict.reason
      assert.include(reason, "did not pass (exit code: 3")
      assert.isTrue(reason.endsWith("2 tests fail"))
      assert.isBelow(reason.length, 5_000)
    }).pipe(Effect.scoped)
  )

  it.live("refuses what cannot run", () =>
    Effect.gen(function* () {
      const verdict = yield* judge("true", "/nonexistent/folder")
      assert.include(verdict.agrees ? "" : verdict.reason, "could not run")
    })
  )
})
