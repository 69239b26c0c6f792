/**
 * Asking the person whom the client serves, where the client offers a way to (elicitation).
 *
 * @since 0.1.0
 */
import type { ApprovalAnswer, ApprovalRequest } from "@afterturn/agent/Approval"
import { prefixOf } from "@afterturn/agent/Approval"
import type { ClientCapabilities, ElicitRequestFormParams, ElicitResult } from "@modelcontextprotocol/server"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/**
 * Asks whoever made the call that runs. The server provides it with each call.
 *
 * @since 0.1.0
 * @category tags
 */
export class CallerQuestions extends Context.Tag("@afterturn/mcp/CallerQuestions")<
  CallerQuestions,
  (request: ApprovalRequest) => Effect.Effect<ApprovalAnswer>
>() {}

/**
 * How a composition that serves clients asks: the `ask` of `Approval.layer`.
 *
 * @since 0.1.0
 * @category asking
 */
export const ask = (request: ApprovalRequest): Effect.Effect<ApprovalAnswer> =>
  Effect.flatMap(
    Effect.serviceOption(CallerQuestions),
    Option.match({ onNone: () => Effect.succeed(no("no client made this call")), onSome: (asking) => asking(request) })
  )

/**
 * Whether a client can show a form to its user. One that declares elicitation without saying of what kind can.
 *
 * @since 0.1.0
 * @category predicates
 */
export const canAsk = (capabilities: ClientCapabilities | undefined): boolean => {
  const elicitation = capabilities?.elicitation
  return elicitation !== undefined && (elicitation.form !== undefined || Object.keys(elicitation).length === 0)
}

/**
 * The answer for a client that cannot.
 *
 * @since 0.1.0
 * @category conversions
 */
export const cannotAsk: ApprovalAnswer = {
  _tag: "no",
  reason: "the client offers no way to ask its user (elicitation)"
}

/**
 * The form: to accept it is to allow the action once, or always what begins like it where that can be said.
 *
 * @since 0.1.0
 * @category conversions
 */
export const form = ({ action, tool }: ApprovalRequest): ElicitRequestFormParams => {
  const prefix = prefixOf(action)
  return {
    mode: "form",
    message: `${tool} wants to run:\n\n${visible(action)}`,
    requestedSchema: {
      type: "object",
      properties:
        prefix === undefined
          ? {}
          : {
              always: {
                type: "boolean",
                title: `Always allow ${visible(prefix)}`,
                description: "until the server ends, for commands that begin so",
                default: false
              }
            }
    }
  }
}

/** All of it, and nothing that hides or moves what a person has to judge. */
const visible = (text: string): string =>
  text.replace(/[^\P{C}\n\t]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/**
 * What the person answered.
 *
 * @since 0.1.0
 * @category conversions
 */
export const answer = (
  { action }: ApprovalRequest,
  given: Pick<ElicitResult, "action"> & { readonly content?: Record<string, unknown> | undefined }
): ApprovalAnswer => {
  switch (given.action) {
    case "accept": {
      const prefix = prefixOf(action)
      return given.content?.always === true && prefix !== undefined ? { _tag: "always", prefix } : { _tag: "once" }
    }
    case "decline":
      return { _tag: "no" }
    case "cancel":
      return no("the user dismissed the question")
  }
}

/**
 * A question that brought no answer.
 *
 * @since 0.1.0
 * @category conversions
 */
export const no = (reason: string): ApprovalAnswer => ({ _tag: "no", reason })
