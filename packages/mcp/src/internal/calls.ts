import type { AgentError } from "@afterturn/agent/Agent"
import type { ApprovalAnswer, ApprovalRequest } from "@afterturn/agent/Approval"
import type { CallToolResult, InputRequiredResult, Server, ServerContext } from "@modelcontextprotocol/server"
import { inputRequired, inputResponse, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as McpQuestions from "../McpQuestions.js"
import { capabilitiesOf } from "./client.js"
import { newId } from "./newId.js"

type Call = Effect.Effect<CallToolResult, AgentError>

type Asking = (request: ApprovalRequest) => Effect.Effect<ApprovalAnswer>

interface Question {
  readonly request: ApprovalRequest
  readonly answered: Deferred.Deferred<ApprovalAnswer>
}

/** A call that lives from request to request. */
interface OpenCall {
  readonly fiber: Fiber.Fiber<CallToolResult, AgentError>
  readonly questions: Queue.Dequeue<Question>
}

interface State {
  readonly fibers: FiberSet.FiberSet<unknown, AgentError>
  readonly patience: Duration.Duration
  /** Calls that wait for the answer to a question, by what the client sends along with it. */
  readonly waiting: Map<string, { readonly open: OpenCall; readonly question: Question }>
}

/**
 * Runs a call, whose tool may ask the person behind the client. Under the earlier revisions that is a request to the client. Under the
 * present one the question is what the request is answered with: the call waits, and goes on with the request that brings the answer.
 */
export type RunCall = (
  connection: { readonly server: Server; readonly isLegacy: boolean },
  context: ServerContext,
  call: Call
) => Effect.Effect<CallToolResult | InputRequiredResult, AgentError | ProtocolError>

export const make = (patience: Duration.Duration): Effect.Effect<RunCall, never, Scope.Scope> =>
  Effect.map(FiberSet.make<unknown, AgentError>(), (fibers) => {
    const state: State = { fibers, patience, waiting: new Map() }
    return ({ isLegacy, server }, context, call) => {
      const asking = (ask: Asking) => Effect.provideService(call, McpQuestions.CallerQuestions, ask)
      if (!McpQuestions.canAsk(capabilitiesOf(server, context)))
        return asking(() => Effect.succeed(McpQuestions.cannotAsk))
      if (isLegacy) return asking((request) => askAtOnce(context, request, patience))
      const token = context.mcpReq.requestState<string>()
      return token === undefined ? begin(state, asking) : goOn(state, token, context)
    }
  })

const askAtOnce = (
  { mcpReq }: ServerContext,
  request: ApprovalRequest,
  patience: Duration.Duration
): Effect.Effect<ApprovalAnswer> =>
  Effect.tryPromise({
    // The library's own limit is a minute, and no concern of ours.
    try: (signal) => mcpReq.elicitInput(McpQuestions.form(request), { signal, timeout: 2 ** 31 - 1 }),
    catch: (error) => McpQuestions.no(`the client could not ask its user: ${(error as Error).message}`)
  }).pipe(
    Effect.map((given) => McpQuestions.answer(request, given)),
    Effect.merge,
    Effect.timeoutTo({
      duration: patience,
      onSuccess: (given) => given,
      onTimeout: () => McpQuestions.no(`nobody answered within ${Duration.format(patience)}`)
    })
  )

const begin = (state: State, asking: (ask: Asking) => Call) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const questions = yield* Queue.unbounded<Question>()
      const ask: Asking = (request) =>
        Effect.flatMap(Deferred.make<ApprovalAnswer>(), (answered) =>
          Effect.zipRight(Queue.offer(questions, { request, answered }), Deferred.await(answered))
        )
      const fiber = yield* FiberSet.run(state.fibers, Effect.interruptible(asking(ask)))
      return yield* restore(next(state, { fiber, questions }))
    })
  )

const goOn = Effect.fnUntraced(function* (state: State, token: string, { mcpReq }: ServerContext) {
  const found = state.waiting.get(token)
  if (found === undefined) {
    const message = "the question has its answer, or had none in time: make the call again without requestState"
    return yield* Effect.fail(new ProtocolError(ProtocolErrorCode.InvalidParams, message))
  }
  state.waiting.delete(token)
  const { open, question } = found
  const view = inputResponse(mcpReq.inputResponses, questionKey)
  const given =
    view.kind === "elicit"
      ? McpQuestions.answer(question.request, view)
      : McpQuestions.no("the client did not answer the question")
  yield* Deferred.succeed(question.answered, given)
  return yield* next(state, open)
})

/** The call's result, or its next question. A request that is cancelled takes its call along. */
const next = (state: State, open: OpenCall): Effect.Effect<CallToolResult | InputRequiredResult, AgentError> =>
  Effect.raceFirst(
    Fiber.join(open.fiber),
    Effect.flatMap(Queue.take(open.questions), (question) => suspend(state, open, question))
  ).pipe(Effect.onInterrupt(() => Fiber.interrupt(open.fiber)))

const questionKey = "approval"

const suspend = (state: State, open: OpenCall, question: Question): Effect.Effect<InputRequiredResult> =>
  Effect.suspend(() => {
    const token = newId()
    state.waiting.set(token, { open, question })
    const result = inputRequired({
      inputRequests: { [questionKey]: inputRequired.elicit(McpQuestions.form(question.request)) },
      requestState: token
    })
    return Effect.as(FiberSet.run(state.fibers, expire(state, token)), result)
  })

/** A client that never comes back has given its call up. */
const expire = (state: State, token: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const found = state.waiting.get(token)
    if (found === undefined) return Effect.void
    return Effect.flatMap(
      Effect.timeoutOption(Deferred.await(found.question.answered), state.patience),
      Option.match({
        onSome: () => Effect.void,
        onNone: () => {
          state.waiting.delete(token)
          return Effect.asVoid(Fiber.interrupt(found.open.fiber))
        }
      })
    )
  })
