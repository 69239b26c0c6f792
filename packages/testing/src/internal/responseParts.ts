import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"

type Part = Response.StreamPartEncoded

/**
 * The parts of a text. No text, no parts.
 */
export const textParts = (text: string, deltaLength: number): ReadonlyArray<Part> =>
  text === ""
    ? []
    : [
        { type: "text-start", id: "text" },
        ...deltasOf(text, deltaLength).map((delta): Part => ({ type: "text-delta", id: "text", delta })),
        { type: "text-end", id: "text" }
      ]

/**
 * The parts of a call. Arguments that are no JSON have no `tool-call` part: a provider can't read them either.
 */
export const callParts = (
  call: { readonly id: string; readonly tool: string; readonly params: string },
  deltaLength: number
): ReadonlyArray<Part> => [
  { type: "tool-params-start", id: call.id, name: call.tool },
  ...deltasOf(call.params, deltaLength).map((delta): Part => ({ type: "tool-params-delta", id: call.id, delta })),
  { type: "tool-params-end", id: call.id },
  ...readParams(call.params).map((params): Part => ({ type: "tool-call", id: call.id, name: call.tool, params }))
]

const readParams = (params: string): ReadonlyArray<unknown> => {
  try {
    return [JSON.parse(params)]
  } catch {
    return []
  }
}

/** Never between the halves of a surrogate pair: each delta is text of its own. */
const deltasOf = (text: string, length: number): ReadonlyArray<string> => {
  const deltas: Array<string> = []
  for (let start = 0; start < text.length; ) {
    const end = start + length
    const isSplit = isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length
    deltas.push(text.slice(start, isSplit ? end + 1 : end))
    start = isSplit ? end + 1 : end
  }
  return deltas
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00

/**
 * The last part of an answer. Tokens are estimated, four characters each, so that they are the same in every run.
 */
export const finishPart = (prompt: Prompt.Prompt, parts: ReadonlyArray<Part>): Part => {
  const inputTokens = tokens(prompt.content.reduce((sum, message) => sum + messageSize(message), 0))
  const outputTokens = tokens(parts.reduce((sum, part) => sum + ("delta" in part ? part.delta.length : 0), 0))
  return {
    type: "finish",
    reason: parts.some((part) => part.type === "tool-call") ? "tool-calls" : "stop",
    usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
  }
}

const tokens = (characters: number): number => Math.ceil(characters / 4)

const messageSize = (message: Prompt.Message): number =>
  message.role === "system"
    ? message.content.length
    : message.content.reduce<number>((sum, part) => sum + partSize(part), 0)

const partSize = (part: Prompt.Part): number => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.length
    case "tool-call":
      return JSON.stringify(part.params ?? null).length
    case "tool-result":
      return typeof part.result === "string" ? part.result.length : JSON.stringify(part.result ?? null).length
    case "file":
      return 0
  }
}

/**
 * The parts of an answer that came whole, from those of a stream.
 */
export const wholeParts = (parts: Iterable<Part>): Array<Response.PartEncoded> => {
  const whole: Array<Response.PartEncoded> = []
  const open = new Map<string, { readonly type: "text" | "reasoning"; text: string; readonly at: number }>()
  for (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const type = part.type === "text-start" ? "text" : "reasoning"
        open.set(`${type}:${part.id}`, { type, text: "", at: whole.length })
        whole.push({ type, text: "" })
        break
      }
      case "text-delta":
      case "reasoning-delta": {
        const type = part.type === "text-delta" ? "text" : "reasoning"
        const block = open.get(`${type}:${part.id}`)
        if (block === undefined) break
        block.text += part.delta
        whole[block.at] = { type, text: block.text }
        break
      }
      case "text-end":
      case "reasoning-end":
      case "tool-params-start":
      case "tool-params-delta":
      case "tool-params-end":
      case "error":
        break
      default:
        whole.push(part)
    }
  }
  return whole
}
