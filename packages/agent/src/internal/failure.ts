import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import type * as AgentEvents from "../AgentEvents.js"

/**
 * The end of a turn that an error of the log or of the model brought about.
 */
export const errorReason = (error: {
  readonly _tag: string
  readonly message: string
}): Extract<AgentEvents.TurnEndReason, { readonly kind: "error" }> => ({
  kind: "error",
  error: { code: codeOf(error), message: error.message }
})

const codeOf = (error: { readonly _tag: string }): string => {
  if (error instanceof SessionStoreError) return `store_${error.reason.replaceAll("-", "_")}`
  if (error._tag === "ModelError" && "code" in error && typeof error.code === "string") return error.code
  return snakeCase(error._tag)
}

const snakeCase = (tag: string): string => tag.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()
