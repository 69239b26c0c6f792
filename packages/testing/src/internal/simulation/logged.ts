/** Keeps what the program logs as errors: no fault of a store or a provider is one, so each is a finding. */
import * as Array from "effect/Array"
import * as Cause from "effect/Cause"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type { Gate } from "./gate.js"

/** Of a host that has died, and does not know it, nothing is kept. */
export const recorder = (logged: Array<string>, gate: Gate): Layer.Layer<never> =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ cause, logLevel, message }) => {
      if (gate.isDead || LogLevel.lessThan(logLevel, LogLevel.Error)) return
      const words = Array.ensure(message).map((part) => (part instanceof Error ? part.message : String(part)))
      const because = Cause.isEmpty(cause) ? [] : [Cause.pretty(cause)]
      logged.push([...words, ...because].join(": ").slice(0, 2_000))
    })
  )
