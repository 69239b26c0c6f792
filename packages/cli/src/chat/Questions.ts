/**
 * Asking the person at the terminal whether the agent may do something.
 *
 * @since 0.1.0
 */
import type { ApprovalAnswer, ApprovalRequest } from "@afterturn/agent/Approval"
import { prefixOf } from "@afterturn/agent/Approval"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Happenings } from "./Display.js"
import * as Row from "./Row.js"
import * as SafeText from "./SafeText.js"

/**
 * What is asked, and what "always" would mean; there is no such prefix for a command that holds a second one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Question {
  readonly request: ApprovalRequest
  readonly prefix: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Questions {
  /** Asks, and waits for the answer. One question at a time. Interrupting it takes the question back. */
  readonly ask: (request: ApprovalRequest) => Effect.Effect<ApprovalAnswer>
  /** Answers the question that is asked; nothing happens when there is none. */
  readonly answer: (answer: ApprovalAnswer) => Effect.Effect<void>
}

/**
 * Questions that are shown among what happens.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (happenings: Happenings): Questions => {
  let open: Deferred.Deferred<ApprovalAnswer> | undefined
  const show = (question: Question | undefined) => happenings.offer({ _tag: "Question", question })
  return {
    ask: (request) =>
      Effect.acquireUseRelease(
        Effect.tap(Deferred.make<ApprovalAnswer>(), (answered) => {
          open = answered
          return Effect.zipRight(
            happenings.offer({ _tag: "Note", lines: lines(request) }),
            show({ request, prefix: prefixOf(request.action) })
          )
        }),
        (answered) => Deferred.await(answered),
        () => {
          open = undefined
          return show(undefined)
        }
      ),
    answer: (answer) =>
      Effect.suspend(() => (open === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(open, answer))))
  }
}

/** All of it: nobody can judge what is cut. */
const lines = ({ action, tool }: ApprovalRequest): ReadonlyArray<Row.Line> => [
  Row.line(""),
  ...Row.lines(`${SafeText.cleanLine(tool)} wants to run\n${SafeText.clean(action)}`, {
    label: Row.span("? ", "warn"),
    style: "strong"
  })
]

/**
 * What a line that was entered says to a question: `y`, `n`, `a`, also written out, and `a PREFIX` for another prefix. `undefined`:
 * nothing, it is a message.
 *
 * @since 0.1.0
 * @category parsing
 */
export const read = ({ prefix, request }: Question, text: string): ApprovalAnswer | undefined => {
  const [, word = "", rest = ""] = /^\s*(\S+)\s*(.*?)\s*$/s.exec(text) ?? []
  switch (word.toLowerCase()) {
    case "y":
    case "yes":
      return rest === "" ? { _tag: "once" } : undefined
    case "n":
    case "no":
      return rest === "" ? { _tag: "no" } : undefined
    case "a":
    case "always": {
      const chosen = rest === "" ? prefix : rest
      return prefix !== undefined && chosen !== undefined && request.action.startsWith(chosen)
        ? { _tag: "always", prefix: chosen }
        : undefined
    }
    default:
      return undefined
  }
}
