/**
 * What the model reads: a projection of the log. Each call of a tool has exactly one result, in the order of the calls, right
 * after the message that made it, whatever happened in between.
 *
 * @since 0.1.0
 */
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as Prompt from "@effect/ai/Prompt"
import * as AgentEvents from "./AgentEvents.js"
import { dataOf } from "./AgentLog.js"
import { toText } from "./AgentMessage.js"

/**
 * The event types that make a history.
 *
 * @since 0.1.0
 * @category constants
 */
export const types: ReadonlyArray<string> = [
  AgentEvents.UserMessage.type,
  AgentEvents.AssistantMessage.type,
  AgentEvents.ToolResult.type,
  AgentEvents.ContextCompacted.type
]

interface Call {
  readonly callId: string
  readonly name: string
  result: { readonly ok: boolean; readonly text: string } | undefined
}

type Entry = (
  | { readonly _tag: "user"; readonly seq: number; readonly id: string; readonly text: string }
  | { readonly _tag: "summary"; readonly seq: number; readonly text: string }
  | {
      readonly _tag: "assistant"
      readonly seq: number
      readonly blocks: ReadonlyArray<AgentEvents.AssistantBlock>
      readonly calls: ReadonlyArray<Call>
    }
) & {
  /** Kept once nothing of it can change: each request shows all entries anew. */
  rendered?: ReadonlyArray<Prompt.Message>
}

/**
 * A history under construction. It is held by one agent and grows in place: a session of 100,000 events is folded once.
 *
 * @since 0.1.0
 * @category models
 */
export class History {
  private entries: Array<Entry> = []
  private bytes = 0
  /** What the provider counted for the newest answer, and `bytes` after it. */
  private counted = { tokens: 0, bytes: 0 }
  private newestSeq = -1

  /** Adds an event; other types than `types` change nothing. */
  add(event: SessionEvent): void {
    if (types.includes(event.type)) this.newestSeq = Math.max(this.newestSeq, event.seq)
    switch (event.type) {
      case AgentEvents.UserMessage.type: {
        const { content, id } = dataOf(AgentEvents.UserMessage, event)
        return this.push({ _tag: "user", seq: event.seq, id, text: toText(content) })
      }
      case AgentEvents.AssistantMessage.type: {
        const { content, usage } = dataOf(AgentEvents.AssistantMessage, event)
        this.push({ _tag: "assistant", seq: event.seq, blocks: content, calls: callsOf(content) })
        this.counted = { tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0), bytes: this.bytes }
        return
      }
      case AgentEvents.ToolResult.type: {
        const result = dataOf(AgentEvents.ToolResult, event)
        const call = this.openCall(result.callId)
        if (call !== undefined) {
          call.result = { ok: result.ok, text: result.text }
          this.bytes += result.text.length
        }
        return
      }
      case AgentEvents.ContextCompacted.type:
        return this.compact(dataOf(AgentEvents.ContextCompacted, event))
    }
  }

  /** The messages for a request, without the system prompt. */
  toMessages(): ReadonlyArray<Prompt.Message> {
    const messages = this.entries.flatMap(render)
    // A session that a client outside began has its calls, and no word of the user: providers want one first.
    return messages[0]?.role === "assistant" ? [userMessage(begunOutside), ...messages] : messages
  }

  /** A rough size: what the provider counted last, where it did, and four characters a token for the rest. */
  get estimatedTokens(): number {
    const plain = Math.ceil(this.bytes / 4)
    return Math.max(plain, this.counted.tokens + Math.ceil((this.bytes - this.counted.bytes) / 4))
  }

  /**
   * What a summary may replace: the older entries, so that about `keepTokens` of the newest stay as they are, and all of those from
   * `beforeSeq` on. A call and its result are never parted. Of messages from `protectFrom` on the ids are named, for they stay in
   * either case. `undefined`: nothing would be gained.
   */
  cut(options: {
    readonly keepTokens: number
    readonly beforeSeq: number
    readonly protectFrom: number
  }): Cut | undefined {
    const old = this.entries.filter((entry) => entry.seq < options.beforeSeq)
    const head = this.headLength()
    // Where a token is less than four characters, as many tokens are less text.
    let room = options.keepTokens * 4 * Math.min(1, this.bytes / 4 / Math.max(1, this.estimatedTokens))
    let first = old.length
    for (let at = old.length - 1; at >= 0; at--) {
      room -= sizeOf(old[at]!)
      if (room < 0) break
      first = at
    }
    const replaced = old.slice(0, first)
    const kept = replaced.flatMap((entry) =>
      entry._tag === "user" && entry.seq >= options.protectFrom ? [entry.id] : []
    )
    if (first <= head || kept.length === replaced.length) return undefined
    const throughSeq = Math.min(old[first]?.seq ?? options.beforeSeq, this.newestSeq + 1) - 1
    return { throughSeq, kept, messages: replaced.flatMap(render) }
  }

  /** The summary, and the messages that were kept beside it. */
  private headLength(): number {
    const [summary] = this.entries
    if (summary?._tag !== "summary") return 0
    const after = this.entries.findIndex((entry) => entry.seq > summary.seq)
    return after === -1 ? this.entries.length : after
  }

  private push(entry: Entry): void {
    this.entries.push(entry)
    this.bytes += sizeOf(entry)
  }

  /** Providers may use an id again in a later message: the newest unanswered call of that id is meant. */
  private openCall(callId: string): Call | undefined {
    for (let i = this.entries.length - 1; i >= 0; i--) {
      const entry = this.entries[i]
      if (entry?._tag !== "assistant") continue
      const call = entry.calls.find((call) => call.callId === callId && call.result === undefined)
      if (call !== undefined) return call
    }
    return undefined
  }

  private compact(data: {
    readonly throughSeq: number
    readonly summary: string
    readonly kept: ReadonlyArray<string>
  }): void {
    const { throughSeq } = data
    const kept = new Set(data.kept)
    const before = this.entries.filter(
      (entry) => entry.seq <= throughSeq && entry._tag === "user" && kept.has(entry.id)
    )
    const after = this.entries.filter((entry) => entry.seq > throughSeq)
    // It stands where what it replaces stood: the next summary may replace it without the entries after it.
    this.entries = [{ _tag: "summary", seq: throughSeq, text: data.summary }, ...before, ...after]
    this.bytes = this.entries.reduce((sum, entry) => sum + sizeOf(entry), 0)
    this.counted = { tokens: 0, bytes: 0 }
  }
}

/**
 * What a summary may replace.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cut {
  /** The seq of the last event that it replaces. */
  readonly throughSeq: number
  /** Ids of user messages through that seq that stay as they are. */
  readonly kept: ReadonlyArray<string>
  readonly messages: ReadonlyArray<Prompt.Message>
}

const callsOf = (blocks: ReadonlyArray<AgentEvents.AssistantBlock>): ReadonlyArray<Call> =>
  blocks.flatMap((block) =>
    block.type === "tool-call" ? [{ callId: block.callId, name: block.name, result: undefined }] : []
  )

const sizeOf = (entry: Entry): number =>
  entry._tag === "assistant"
    ? entry.blocks.reduce((sum, block) => sum + blockSize(block), 0) +
      entry.calls.reduce((sum, call) => sum + (call.result?.text.length ?? 0), 0)
    : entry.text.length

const blockSize = (block: AgentEvents.AssistantBlock): number =>
  block.type === "tool-call" ? JSON.stringify(block.input ?? null).length : block.text.length

const render = (entry: Entry): ReadonlyArray<Prompt.Message> => {
  if (entry.rendered !== undefined) return entry.rendered
  const messages = messagesOf(entry)
  if (entry._tag !== "assistant" || entry.calls.every(({ result }) => result !== undefined)) entry.rendered = messages
  return messages
}

const messagesOf = (entry: Entry): ReadonlyArray<Prompt.Message> => {
  switch (entry._tag) {
    case "user":
      return [userMessage(entry.text)]
    case "summary":
      return [userMessage(`Summary of the conversation so far:\n\n${entry.text}`)]
    case "assistant":
      return entry.calls.length === 0
        ? assistantMessages(entry.blocks)
        : [...assistantMessages(entry.blocks), Prompt.toolMessage({ content: entry.calls.map(resultPart) })]
  }
}

const begunOutside = "(Another program was the agent of this session before you; what it did follows.)"

const userMessage = (text: string): Prompt.Message => Prompt.userMessage({ content: [Prompt.textPart({ text })] })

/** Providers refuse an assistant message without content. */
const assistantMessages = (blocks: ReadonlyArray<AgentEvents.AssistantBlock>): ReadonlyArray<Prompt.Message> =>
  blocks.length === 0 ? [] : [Prompt.assistantMessage({ content: blocks.map(assistantPart) })]

const assistantPart = (block: AgentEvents.AssistantBlock): Prompt.AssistantMessagePart => {
  switch (block.type) {
    case "text":
      return Prompt.textPart({ text: block.text })
    case "reasoning":
      return Prompt.reasoningPart({ text: block.text, options: (block.options ?? {}) as Prompt.ProviderOptions })
    case "tool-call":
      return Prompt.toolCallPart({
        id: block.callId,
        name: block.name,
        params: wellFormedInput(block.input),
        providerExecuted: false,
        options: (block.options ?? {}) as Prompt.ProviderOptions
      })
  }
}

/** A provider takes only objects back as arguments; what could not be read as one is shown as the text that it was. */
const wellFormedInput = (input: unknown): unknown =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? input : { input }

const resultPart = (call: Call): Prompt.ToolResultPart =>
  Prompt.toolResultPart({
    id: call.callId,
    name: call.name,
    isFailure: !(call.result?.ok ?? false),
    result: call.result?.text ?? "no result: this conversation was continued before the call was answered",
    providerExecuted: false
  })
