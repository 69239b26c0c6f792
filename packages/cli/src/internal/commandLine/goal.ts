/** The commands about the goal of a session. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { group, leaf } from "../cliCommand.js"
import { argument, nonEmpty, required, sessionId } from "../parameters.js"
import { db, json, maxDuration, maxRounds, maxTokens, text } from "./shared.js"

const goals = () => Effect.promise(() => import("../../commands/goal.js"))

const whose = required("session", "ID", "The session whose goal is meant.", sessionId)

const goalShow = Command.make("show", { session: whose, db, json }, (options) =>
  Effect.flatMap(goals(), ({ show }) => show(options))
).pipe(Command.withDescription(text("Shows the goal, and what can be done with it.", "With --json, { goal }.")))

const goalCreate = Command.make(
  "create",
  {
    session: whose,
    maxRounds,
    maxTokens,
    maxDuration,
    db,
    json,
    objective: argument("OBJECTIVE", "What to achieve.", nonEmpty)
  },
  (options) => Effect.flatMap(goals(), ({ create }) => create(options))
).pipe(
  Command.withDescription(
    text(
      "Sets a goal. One that is not complete has to be finished or cleared first.",
      "Where a process drives the session it goes to work; else the goal waits for afterturn run --goal, or /goal resume in the chat."
    )
  )
)

const goalEdit = Command.make(
  "edit",
  {
    session: whose,
    maxRounds,
    maxTokens,
    maxDuration,
    db,
    json,
    objective: Args.optional(argument("OBJECTIVE", "What to achieve instead.", nonEmpty))
  },
  (options) => Effect.flatMap(goals(), ({ edit }) => edit(options))
).pipe(Command.withDescription(text("Changes what a goal asks for or may use, and neither pauses nor resumes it.")))

const goalVerb = (verb: "pause" | "resume" | "clear", description: string) =>
  Command.make(verb, { session: whose, db, json }, (options) =>
    Effect.flatMap(goals(), ({ simple }) => simple({ ...options, verb }))
  ).pipe(Command.withDescription(text(description)))

export const goalCommands = group(
  "goal",
  text("Looks at the goal of a session and changes it."),
  leaf(goalShow),
  leaf(goalCreate),
  leaf(goalEdit),
  leaf(goalVerb("pause", "Stops an active goal until it is resumed.")),
  leaf(goalVerb("resume", "Goes on with a goal that is paused, blocked or at rest, while it has rounds left.")),
  leaf(goalVerb("clear", "Takes a goal away, whatever its phase."))
)
