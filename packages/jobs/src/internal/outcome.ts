import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { labelLine } from "../Job.js"
import type { Outcome } from "./live.js"

/**
 * What a job came to, by the end of its fiber and of its finalizers: success is `completed`, interruption `killed`, anything else
 * `failed`.
 */
export const outcomeOf = (
  exit: Exit.Exit<unknown, unknown>,
  closed: Exit.Exit<unknown, unknown>,
  detail: string | undefined
): Outcome => {
  const cause =
    Exit.isFailure(exit) && Exit.isFailure(closed)
      ? Cause.sequential(exit.cause, closed.cause)
      : (causeOf(exit) ?? causeOf(closed))
  if (cause === undefined) return { status: "completed", detail }
  if (Cause.isInterruptedOnly(cause)) return { status: "killed", detail }
  const problem = problemOf(cause)
  return { status: "failed", detail: detail === undefined ? problem : labelLine(`${detail}; ${problem}`) }
}

const causeOf = (exit: Exit.Exit<unknown, unknown>): Cause.Cause<unknown> | undefined =>
  Exit.isFailure(exit) ? exit.cause : undefined

/** One line, without a stack: the model reads it. */
const problemOf = (cause: Cause.Cause<unknown>): string => {
  const failure = Cause.failureOption(cause)
  if (Option.isSome(failure)) return lineOf(failure.value)
  return `internal error: ${lineOf(Option.getOrUndefined(Cause.dieOption(cause)))}`
}

const lineOf = (error: unknown): string => {
  try {
    const text = typeof error === "string" ? error : messageOf(error)
    return text.trim() === "" ? "unknown error" : labelLine(text.trim())
  } catch {
    // An error whose message cannot be read is still an error.
    return "unknown error"
  }
}

const messageOf = (error: unknown): string => {
  if (!Predicate.isRecord(error)) return String(error)
  if (typeof error.message === "string" && error.message !== "") return error.message
  return typeof error._tag === "string" ? error._tag : typeof error.name === "string" ? error.name : ""
}
