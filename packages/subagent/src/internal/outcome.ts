import type { JobContext } from "@afterturn/jobs/Job"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Effect from "effect/Effect"
import type { Tokens } from "../SubagentTree.js"
import type { Look } from "./look.js"

/**
 * What a stretch of work came to, as the job of it reports: its text, or why there is none.
 */
export const report = (
  { setDetail, write }: JobContext,
  id: SessionId,
  sinceSeq: number,
  { held, ownJobs, progress }: Look,
  tokens: Tokens
): Effect.Effect<string, string> => {
  const text = progress.text !== null && progress.text.seq > sinceSeq ? progress.text.text : undefined
  const reason = progress.end !== null && progress.end.seq > sinceSeq ? progress.end.reason : undefined
  const facts = [
    `agent ${id}`,
    ...(reason?.kind === "step-limit" ? [`stopped after ${reason.maxSteps} steps`] : []),
    ...(ownJobs > 0 ? [`${count(ownJobs, "job")} of its own still ${ownJobs === 1 ? "runs" : "run"}`] : []),
    ...(ownJobs === 0 && held.length > 0 ? [`it has not been told that ${held.join(", ")} ended`] : []),
    `${tokens.inputTokens + tokens.outputTokens} tokens in all`
  ]
  return Effect.zipRight(
    setDetail(facts.join(", ")),
    Effect.suspend((): Effect.Effect<string, string> => {
      switch (reason?.kind) {
        case "error":
          return failed(write, text, `its turn ended in an error: ${reason.error.message} (${reason.error.code})`)
        case "aborted":
        case "interrupted": {
          const cause = reason.kind === "aborted" ? reason.cause : "its process died"
          return Effect.zipRight(
            setDetail([...facts, `its turn was ended: ${cause}`].join(", ")),
            Effect.zipRight(keep(write, text), Effect.interrupt)
          )
        }
        default:
          return Effect.succeed(text ?? "(it ended without a text)")
      }
    })
  )
}

const keep = (write: JobContext["write"], text: string | undefined): Effect.Effect<void> =>
  text === undefined ? Effect.void : write(text)

const failed = (write: JobContext["write"], text: string | undefined, reason: string) =>
  Effect.zipRight(keep(write, text), Effect.fail(reason))

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`
