/**
 * Who may act on the world: tools that do ask before they run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"

/**
 * What a tool wants to do: `action` is the command, path or text that a person would judge, and what prefix rules match.
 *
 * @since 0.1.0
 * @category models
 */
export interface ApprovalRequest {
  readonly tool: string
  readonly action: string
}

/**
 * @since 0.1.0
 * @category models
 */
export type ApprovalDecision = { readonly _tag: "allowed" } | { readonly _tag: "denied"; readonly reason: string }

/**
 * Actions of a tool that begin with `prefix`, at a word's end. The longest prefix decides; at equal length `deny` does.
 *
 * @since 0.1.0
 * @category models
 */
export interface ApprovalRule {
  readonly tool: string
  readonly prefix: string
  readonly decision: "allow" | "deny"
}

/**
 * What a person may answer. `always` allows every action of the tool with that prefix from now on. `reason` says why it is no when
 * nobody said so.
 *
 * @since 0.1.0
 * @category models
 */
export type ApprovalAnswer =
  | { readonly _tag: "once" }
  | { readonly _tag: "always"; readonly prefix: string }
  | { readonly _tag: "no"; readonly reason?: string }

/**
 * @since 0.1.0
 * @category tags
 */
export class Approval extends Context.Tag("@afterturn/agent/Approval")<
  Approval,
  { readonly decide: (request: ApprovalRequest) => Effect.Effect<ApprovalDecision> }
>() {}

/**
 * Rules first, then the policy. `ask` without somebody to ask means no: it fails closed. One question is put at a time, and what was
 * answered meanwhile is looked at again before the next.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: {
  readonly policy: "allow" | "deny" | "ask"
  readonly rules?: ReadonlyArray<ApprovalRule>
  readonly ask?: (request: ApprovalRequest) => Effect.Effect<ApprovalAnswer>
}): Layer.Layer<Approval> =>
  Layer.effect(
    Approval,
    Effect.gen(function* () {
      const rules = yield* Ref.make(options.rules ?? [])
      const oneAtATime = yield* Effect.makeSemaphore(1)
      const byRule = (request: ApprovalRequest) =>
        Effect.map(Ref.get(rules), (present) => decideByRules(present, request))
      const byPerson = Effect.fnUntraced(function* (request: ApprovalRequest) {
        const known = yield* byRule(request)
        if (known !== undefined) return known
        if (options.ask === undefined) return denied("nobody is there to approve it")
        const answer = yield* options.ask(request)
        if (answer._tag === "always") {
          yield* Ref.update(rules, (present) => [
            ...present,
            { tool: request.tool, prefix: answer.prefix, decision: "allow" as const }
          ])
        }
        return answer._tag === "no" ? denied(answer.reason ?? "the user did not approve it") : allowed
      })
      return {
        decide: (request) =>
          Effect.flatMap(byRule(request), (known) => {
            if (known !== undefined) return Effect.succeed(known)
            switch (options.policy) {
              case "allow":
                return Effect.succeed(allowed)
              case "deny":
                return Effect.succeed(denied("the policy of this deployment forbids it"))
              case "ask":
                return oneAtATime.withPermits(1)(byPerson(request))
            }
          })
      }
    })
  )

/**
 * The prefix that "always" would mean of an action: the program, and its subcommand where there is one. There is none of a command
 * that holds a second one.
 *
 * @since 0.1.0
 * @category accessors
 */
export const prefixOf = (action: string): string | undefined => {
  if (/[;&|`$()<>\n]/.test(action)) return undefined
  const [, prefix] = /^(\S+(?: [a-z][a-z0-9-]*(?=\s|$))?)/.exec(action) ?? []
  return prefix
}

const allowed: ApprovalDecision = { _tag: "allowed" }

const denied = (reason: string): ApprovalDecision => ({ _tag: "denied", reason })

const decideByRules = (rules: ReadonlyArray<ApprovalRule>, request: ApprovalRequest): ApprovalDecision | undefined => {
  const matching = rules.filter((rule) => rule.tool === request.tool && hasPrefix(request.action, rule.prefix))
  const longest = Math.max(0, ...matching.map((rule) => rule.prefix.length))
  const deciding = matching.filter((rule) => rule.prefix.length === longest)
  if (deciding.length === 0) return undefined
  return deciding.some((rule) => rule.decision === "deny") ? denied("a rule of this deployment forbids it") : allowed
}

/** `git` allows `git status`, not `gitk`; a prefix never reaches past a shell's separators into a second command. */
const hasPrefix = (action: string, prefix: string): boolean => {
  if (!action.startsWith(prefix)) return false
  const rest = action.slice(prefix.length)
  return (rest === "" || /^\s/.test(rest) || /\s$/.test(prefix)) && !/[;&|`$()<>\n]/.test(rest)
}
