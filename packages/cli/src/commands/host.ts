/**
 * `afterturn host`: stays up for reminders of sessions that nobody drives.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Approve from "../Approve.js"
import { fromError } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { hostLayer } from "../Compose/Schedule.js"
import { agentLayer } from "../Compose.js"
import * as Database from "../Database.js"
import { Output } from "../Output.js"
import * as Route from "../Route.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface HostOptions {
  readonly model: Option.Option<string>
  readonly approve: Option.Option<Approve.Policy>
  readonly baseUrl: Option.Option<string>
  readonly db: Option.Option<string>
}

/**
 * Drives sessions that nobody drives when one of their reminders is due, until it is interrupted.
 *
 * @since 0.1.0
 * @category commands
 */
export const host = (options: HostOptions): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const route = yield* Route.resolve(options.model)
    const db = yield* Database.resolve(options.db)
    const place = Database.shown(db)
    const say = (text: string, facts: object) => output.note(output.json ? JSON.stringify(facts) : text)
    const driving = hostLayer({
      onDrive: (session) => say(`session ${session}: a reminder is due`, { session })
    })
    const agents = agentLayer({
      db,
      route,
      baseUrl: Option.getOrUndefined(options.baseUrl),
      approval: { policy: Approve.resolve(options.approve, route) }
    })
    yield* Effect.zipRight(
      say(`waiting for reminders of the sessions in ${place}`, { host: place }),
      Effect.never
    ).pipe(Effect.provide(Layer.provideMerge(driving, agents)))
  }).pipe(Effect.mapError(fromError))
