/** What a chat runs on, in memory, and a terminal that a test types on and looks at. */
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import { todoConfig } from "@afterturn/cli/Compose"
import type { Tty } from "@afterturn/cli/chat/Tty"
import { Output, StdoutClosed } from "@afterturn/cli/Output"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import * as SubagentLog from "@afterturn/subagent/SubagentLog"
import type { Definition } from "@afterturn/testing/Script"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoTools from "@afterturn/todo/TodoTools"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { VirtualTerminal } from "./VirtualTerminal.js"

/** Agents on a memory log whose model follows a script. */
export const layer = (definition: Definition, options?: ScriptedModel.ScriptedModelOptions) =>
  Layer.mergeAll(
    TodoTools.layer,
    JobTools.layer(),
    JobDelivery.layer(),
    EventTypes.layerRegister(...SubagentLog.eventTypes)
  ).pipe(
    Layer.provideMerge(Jobs.layer()),
    Layer.provideMerge(Todo.layer),
    Layer.provideMerge(todoConfig),
    Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "UTC" })),
    Layer.provideMerge(ScriptedModel.layer(definition, options)),
    Layer.provideMerge(SessionLog.layerMemory)
  )

const write = (...statuses: ReadonlyArray<"pending" | "in_progress" | "completed">) => ({
  tool: "todo_write",
  input: { todos: statuses.map((status, index) => ({ content: `todo ${index + 1}`, status })) }
})

/** `plan` makes a list of two todos and works on it, `fail` makes the request fail, `evil` is hostile; else `Done.` */
export const script: Definition = {
  rules: [
    {
      match: "plan",
      repeat: true,
      steps: [
        { text: "I plan.", calls: [write("in_progress", "pending")] },
        { calls: [write("completed", "in_progress")] },
        { text: "Planned." }
      ]
    },
    { match: "fail", repeat: true, steps: [{ fail: { status: 400, message: "no such model" } }] },
    { match: "evil", repeat: true, steps: [{ text: "\x1b]0;owned\x07\x1b[2Jevil\x1b[31m text\x9b1A" }] }
  ],
  otherwise: [{ text: "Done." }]
}

export interface Desk {
  readonly tty: Context.Tag.Service<Tty>
  readonly terminal: VirtualTerminal
  readonly type: (text: string) => Effect.Effect<void>
  readonly hangUp: Effect.Effect<void>
  readonly resize: (columns: number, rows: number) => Effect.Effect<void>
  /** Waits until what is on the terminal, its history with it, is as asked. */
  readonly sees: (isSo: (text: string) => boolean) => Effect.Effect<void>
  readonly suspended: () => number
}

/** A terminal of 60 columns and 20 rows. */
export const makeDesk: Effect.Effect<Desk> = Effect.gen(function* () {
  const terminal = new VirtualTerminal(60, 20)
  const typed = yield* Queue.unbounded<string | undefined>()
  const resizes = yield* PubSub.unbounded<{ columns: number; rows: number }>()
  const waiting = new Set<() => void>()
  const text = () => terminal.text().join("\n")
  const look = () => {
    for (const check of waiting) check()
  }
  let suspended = 0
  return {
    terminal,
    tty: {
      size: Effect.sync(() => ({ columns: terminal.columns, rows: terminal.rows })),
      resizes: Stream.fromPubSub(resizes),
      input: Stream.fromQueue(typed).pipe(Stream.takeWhile((piece) => piece !== undefined)),
      write: (bytes) =>
        Effect.sync(() => {
          terminal.write(bytes)
          look()
        }),
      suspend: Effect.sync(() => {
        suspended++
        look()
      })
    },
    type: (piece) => Effect.asVoid(Queue.offer(typed, piece)),
    hangUp: Effect.asVoid(Queue.offer(typed, undefined)),
    resize: (columns, rows) =>
      Effect.suspend(() => {
        terminal.resize(columns, rows)
        return Effect.asVoid(PubSub.publish(resizes, { columns, rows }))
      }),
    sees: (isSo) =>
      Effect.async<void>((resume) => {
        const check = () => {
          if (!isSo(text())) return
          waiting.delete(check)
          resume(Effect.void)
        }
        waiting.add(check)
        check()
        return Effect.sync(() => waiting.delete(check))
      }).pipe(
        // Says what is there instead, before the test is out of time.
        Effect.timeoutFail({ duration: "8 seconds", onTimeout: () => new Error(`not seen; there is\n${text()}`) }),
        Effect.orDie
      ),
    suspended: () => suspended
  }
})

/** A stdout that remembers; `reads` is how many writes somebody reads. */
export const makeStdout = (options?: { readonly reads?: number; readonly colour?: boolean }) => {
  let text = ""
  let reads = options?.reads ?? Number.POSITIVE_INFINITY
  const writeTo = (piece: string) =>
    Effect.suspend(() => {
      if (reads-- <= 0) return Effect.fail(new StdoutClosed())
      text += piece
      return Effect.void
    })
  const layer = Layer.succeed(Output, {
    json: false,
    colour: options?.colour ?? false,
    terminal: false,
    columns: Number.POSITIVE_INFINITY,
    write: writeTo,
    line: (piece) => writeTo(`${piece}\n`),
    note: () => Effect.void
  })
  return { layer, text: () => text }
}
