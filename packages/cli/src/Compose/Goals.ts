/**
 * What the command decides about goals: whether they go on by themselves, and the referee that is a shell command.
 *
 * @since 0.1.0
 */
import * as AgentWakes from "@afterturn/agent/Wakes"
import * as GoalConfig from "@afterturn/goals/GoalConfig"
import * as GoalReferee from "@afterturn/goals/GoalReferee"
import * as Goals from "@afterturn/goals/Goals"
import * as GoalWakes from "@afterturn/goals/GoalWakes"
import * as JobWakes from "@afterturn/jobs/JobWakes"
import * as ReminderWakes from "@afterturn/schedule/ReminderWakes"
import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import * as Shell from "@afterturn/shell/Shell"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SafeText from "../chat/SafeText.js"
import { shell } from "./Jobs.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface GoalsLayerOptions {
  /** Whether an active goal goes on when its session resumes. Default: no. */
  readonly rearmOnResume?: boolean
  /** A command that has to exit 0 before a goal counts as complete, and where it runs. Default: none. */
  readonly check?: { readonly command: string; readonly workdir: string }
}

/**
 * Goals, and who must agree to the end of one.
 *
 * @since 0.1.0
 * @category layers
 */
export const goalsLayer = ({
  check,
  rearmOnResume = false
}: GoalsLayerOptions = {}): Layer.Layer<Goals.Goals | GoalConfig.GoalConfig, never, Projections | EventTypes> =>
  Goals.layer.pipe(
    Layer.provide(
      check === undefined ? GoalReferee.layerNone : layerCheck(check.command, check.workdir).pipe(Layer.provide(shell))
    ),
    Layer.provideMerge(
      GoalConfig.layer({ rearmOnResume }).pipe(
        // The defaults are known to be fine.
        Layer.orDie
      )
    )
  )

/**
 * What can wake a session, for commands that drive none.
 *
 * @since 0.1.0
 * @category layers
 */
export const wakesReader: Layer.Layer<AgentWakes.Wakes | Goals.Goals, never, Projections | EventTypes> = Layer.mergeAll(
  JobWakes.layer(),
  ReminderWakes.layer,
  GoalWakes.layer
).pipe(Layer.provideMerge(AgentWakes.layer), Layer.provideMerge(goalsLayer()))

/** A command that takes longer proves nothing. */
const checkTimeout = Duration.minutes(30)

/** Of the end of its output the model reads so many characters: that is where a failure is named. */
const shownOutput = 4_000

/**
 * A referee that runs a shell command: exit code 0 agrees.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerCheck = (
  command: string,
  workdir: string
): Layer.Layer<GoalReferee.GoalReferee, never, Shell.Shell> =>
  Layer.unwrapEffect(
    Effect.map(Shell.Shell, (service) => GoalReferee.layer(() => runCheck(service, { command, workdir })))
  )

const runCheck = (
  service: (typeof Shell.Shell)["Service"],
  command: Shell.ShellCommand
): Effect.Effect<GoalReferee.Verdict> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let tail = ""
    const sink: Shell.CommandSink = {
      write: (chunk) =>
        Effect.sync(() => {
          tail = (tail + decoder.decode(chunk, { stream: true })).slice(-shownOutput)
        }),
      setDetail: () => Effect.void
    }
    const refuse = (how: string): GoalReferee.Verdict => ({
      agrees: false,
      reason: `the check ${JSON.stringify(command.command)} ${how}${tail.trim() === "" ? "" : `; its output ends with:\n${SafeText.clean(tail).trim()}`}`
    })
    return service.run(command, sink).pipe(
      Effect.timeoutOption(checkTimeout),
      Effect.map(
        Option.match({
          onNone: () => refuse(`took longer than ${Duration.format(checkTimeout)}`),
          onSome: ({ detail, exit }): GoalReferee.Verdict =>
            exit._tag === "Exited" && exit.code === 0 ? { agrees: true } : refuse(`did not pass (${detail})`)
        })
      ),
      Effect.catchAll((error) => Effect.succeed(refuse(`could not run: ${error.message}`)))
    )
  })
