/**
 * The tools by which a model works in terminals.
 *
 * @since 0.1.0
 */
import { Approval } from "@afterturn/agent/Approval"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { JobKillRequested, JobSettle, JobStart } from "@afterturn/jobs/JobEvents"
import { Jobs } from "@afterturn/jobs/Jobs"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Answers from "./internal/answers.js"
import type { Handlers } from "./internal/handlers.js"
import * as Handle from "./internal/handlers.js"
import { TerminalConfig } from "./TerminalConfig.js"
import { TerminalToolError } from "./TerminalError.js"
import { TerminalClose, TerminalOpen } from "./TerminalEvents.js"
import { Terminals } from "./Terminals.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface TerminalToolsOptions {
  /** Whether this composition tells owners of the ends of their jobs: only then do the tools promise it. Default true. */
  readonly noticesDelivered: boolean
}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const sessionId = Schema.String.annotations({
  description: "The terminal's id, as terminal_open or terminal_list gave it",
  examples: ["term-1"]
})

const lines = (description: string, example: number) =>
  optional(Schema.Number.pipe(Schema.int(), Schema.nonNegative()).annotations({ description, examples: [example] }))

const returned = { failure: TerminalToolError, failureMode: "return" } as const

/**
 * The six tools.
 *
 * @since 0.1.0
 * @category toolkits
 */
export const toolkit = (options: TerminalToolsOptions) =>
  Toolkit.make(
    Tool.make("terminal_open", {
      description: [
        "Opens a terminal that stays: a shell or another program whose state (variables, folder, a REPL's values, a debugger)",
        "is kept from call to call. For single commands use bash. Answers once the program is ready. It ends with the host: open a new one then."
      ].join(" "),
      parameters: {
        type: Schema.String.annotations({
          description: "A type of terminal of this deployment, usually shell",
          examples: ["shell"]
        }),
        name: optional(
          Schema.String.annotations({ description: "A name to know it by in lists", examples: ["main", "gdb"] })
        ),
        cwd: optional(
          Schema.String.annotations({
            description: "The folder to start in: absolute, or relative to the session's folder, which is the default",
            examples: ["packages/api"]
          })
        )
      },
      success: Answers.ShownTerminal,
      ...returned
    })
      .annotate(Tool.Title, "Open a terminal")
      .annotate(ToolRegistry.ToolText, (terminal: Answers.ShownTerminal) => Answers.terminalLine(terminal)),
    Tool.make("terminal_list", {
      description: "Lists your terminals: ids, types, names, what runs in each and whether it waits for input.",
      success: Schema.Struct({ terminals: Schema.Array(Answers.ShownTerminal) }),
      ...returned
    })
      .annotate(Tool.Title, "List terminals")
      .annotate(Tool.Readonly, true)
      .annotate(ToolRegistry.ToolText, ({ terminals }: { readonly terminals: ReadonlyArray<Answers.ShownTerminal> }) =>
        terminals.length === 0 ? "no terminals are open" : terminals.map(Answers.terminalLine).join("\n")
      ),
    Tool.make("terminal_read", {
      description: [
        "Reads lines that a terminal shows or has kept, without typing anything: the newest ones, or with offset those before.",
        "Of a program that has the whole screen (an editor, a pager) it is the screen."
      ].join(" "),
      parameters: {
        sessionId,
        offset: lines("How many of the newest lines to leave out. Default 0", 500),
        count: lines("How many lines. Default 500; the configuration sets the most", 100)
      },
      success: Answers.ReadAnswer,
      ...returned
    })
      .annotate(Tool.Title, "Read a terminal")
      .annotate(Tool.Readonly, true)
      .annotate(ToolRegistry.ToolText, (answer: Answers.ReadAnswer) => Answers.readText(answer)),
    Tool.make("terminal_send", {
      description: [
        "Types text into a terminal and presses Enter, then waits until the shell shows its prompt, a program waits for input,",
        "nothing is written for a while, the time is over, or the program exits; the last line says which. Answers with the lines that were shown since.",
        'Keys are characters of the text, as JSON writes them: "\\u0003" is Ctrl-C, "\\u0004" Ctrl-D, "\\u001b" Escape, "\\u001b[A" the up arrow;',
        "send them with submit: false. Before you delete or move anything, look at the absolute path and make sure that it is the one you mean."
      ].join(" "),
      parameters: {
        sessionId,
        text: Schema.String.annotations({
          description: "What to type. Each line end in it is typed as Enter",
          examples: ["make test"]
        }),
        submit: optional(
          Schema.Boolean.annotations({
            description: "Press Enter after the text. False for keys and for input that is to go on. Default true"
          })
        ),
        run_in_background: optional(
          Schema.Boolean.annotations({
            description:
              "Answer at once with a job id, without waiting: job_output reads it, job_kill interrupts it. Default false"
          })
        )
      },
      success: Answers.SendAnswer,
      ...returned
    })
      .annotate(Tool.Title, "Type into a terminal")
      .annotate(ToolRegistry.ToolText, Answers.sendText(options)),
    Tool.make("terminal_signal", {
      description:
        "Sends a signal to the processes in front of a terminal, and answers with what came of it. The terminal's own program is not sent SIGKILL: use terminal_close.",
      parameters: {
        sessionId,
        signal: Schema.Literal("SIGINT", "SIGTERM", "SIGKILL", "SIGTSTP", "SIGHUP").annotations({
          description: "The signal; SIGINT is what Ctrl-C sends"
        })
      },
      success: Answers.SendAnswer,
      ...returned
    })
      .annotate(Tool.Title, "Signal a terminal's program")
      .annotate(ToolRegistry.ToolText, Answers.sendText(options)),
    Tool.make("terminal_close", {
      description: "Closes a terminal: ends every process in it and answers once none is left.",
      parameters: { sessionId },
      success: Answers.CloseAnswer,
      ...returned
    })
      .annotate(Tool.Title, "Close a terminal")
      .annotate(
        ToolRegistry.ToolText,
        ({ exit, sessionId: id }: typeof Answers.CloseAnswer.Type) =>
          `${id} is closed${exit === undefined ? "" : `; it had exited (${exit})`}`
      )
  )

/**
 * Registers the tools and their section of the system prompt. With `Jobs` a text can be sent in the background; where there is an
 * `Approval`, it is asked before each text, and without one nothing is gated.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<TerminalToolsOptions>
): Layer.Layer<never, never, Terminals | TerminalConfig | ToolRegistry.ToolRegistry | SystemPrompt> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const handlers: Handlers = {
        terminals: yield* Terminals,
        settings: yield* TerminalConfig,
        jobs: Option.getOrUndefined(yield* Effect.serviceOption(Jobs)),
        approval: Option.getOrUndefined(yield* Effect.serviceOption(Approval))
      }
      yield* handlers.jobs?.registerReaper("terminal", handlers.terminals.reap) ?? Effect.void
      yield* Effect.flatMap(SystemPrompt, (prompt) => prompt.section(promptSection))
      return registered(handlers, toolkit({ noticesDelivered: true, ...options }))
    })
  )

const registered = (handlers: Handlers, kit: ReturnType<typeof toolkit>) =>
  ToolRegistry.layerToolkit(kit, {
    package: "@afterturn/terminal",
    requires: ["Terminals", "TerminalConfig", "Jobs for run_in_background", "an agent that makes the call"],
    writes: [TerminalOpen.type, TerminalClose.type, JobStart.type, JobKillRequested.type, JobSettle.type],
    note: `Linux and macOS. Asks Approval before each text, where there is one. Types: ${handlers.terminals.types.join(", ")}.`
  }).pipe(
    Layer.provide(
      kit.toLayer({
        terminal_open: (input) => Handle.open(handlers, input),
        terminal_list: () => Handle.list(handlers),
        terminal_read: (input) => Handle.read(handlers, input),
        terminal_send: (input) => Handle.send(handlers, input),
        terminal_signal: (input) => Handle.signal(handlers, input),
        terminal_close: (input) => Handle.close(handlers, input)
      })
    )
  )

const promptSection = {
  key: "terminals",
  order: 310,
  text: () =>
    Effect.succeed(
      [
        "Terminals keep state from call to call and hold processes: close with terminal_close those that you no longer need.",
        "They end with the host. When one is gone, open a new one and set up again what it held."
      ].join(" ")
    )
}
