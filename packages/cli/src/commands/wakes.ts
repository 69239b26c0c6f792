/**
 * `afterturn wakes`
 *
 * @since 0.1.0
 */
import { Wakes } from "@afterturn/agent/Wakes"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Handler } from "../Commands.js"
import { wakesReader } from "../Compose/Goals.js"
import { SessionWakes } from "../Compose/Serve.js"
import { askHolder } from "../internal/driven.js"
import { jsonText } from "../internal/json.js"
import { withExistingStore } from "../internal/withStore.js"
import { Output } from "../Output.js"
import * as Render from "../Render.js"
import type { SessionOptions } from "./sessions.js"

/**
 * Shows what can wake a session: as the process that drives it knows, else as the log has it.
 *
 * @since 0.1.0
 * @category commands
 */
export const wakes = ({ db, id }: SessionOptions): Handler =>
  withExistingStore(
    db,
    Effect.gen(function* () {
      const output = yield* Output
      yield* Effect.flatMap(SessionLog, (log) => log.header(id))
      const answer = yield* askHolder(id, SessionWakes, {})
      const found = Option.isSome(answer)
        ? answer.value
        : yield* Effect.flatMap(Wakes, ({ of }) => of(id)).pipe(Effect.provide(wakesReader))
      yield* output.line(output.json ? jsonText(found, output) : Render.wakes(found, output))
    })
  )
