/**
 * `afterturn terminals`
 *
 * @since 0.1.0
 */
import { Mailbox } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import type { TerminalSize } from "@afterturn/terminal/TerminalBackend"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { failure } from "../CliError.js"
import type { Handler } from "../Commands.js"
import type { ListedTerminal } from "../Compose/TerminalControl.js"
import { TerminalControl } from "../Compose/TerminalControl.js"
import * as SafeText from "../chat/SafeText.js"
import { jsonText } from "../internal/json.js"
import { withExistingStore } from "../internal/withStore.js"
import { Output } from "../Output.js"
import type { DbOption } from "./sessions.js"

/**
 * Whose terminals, and what to do with one.
 *
 * @since 0.1.0
 * @category models
 */
export interface TerminalsOptions extends DbOption {
  readonly session: SessionId
  readonly terminal: Option.Option<string>
  readonly size: Option.Option<TerminalSize>
  readonly keys: Option.Option<ReadonlyArray<string>>
}

/**
 * Lists the terminals of a session or shows one. They live in the process that drives the session, which is asked; with none there are
 * no terminals.
 *
 * @since 0.1.0
 * @category commands
 */
export const terminals = (options: TerminalsOptions): Handler =>
  withExistingStore(
    options.db,
    Effect.gen(function* () {
      const { keys, session, size, terminal } = options
      if (Option.isNone(terminal) && (Option.isSome(keys) || Option.isSome(size))) {
        return yield* Effect.fail(failure("terminal_missing", "--keys and --size need the id of a terminal"))
      }
      // Says that there is no such session, rather than that it has no terminals.
      yield* Effect.flatMap(SessionLog, (log) => log.header(session))
      if (!(yield* isDriven(session))) return yield* sayUndriven(options)
      const mailbox = yield* Mailbox
      const answer = yield* mailbox.send(session, TerminalControl, {
        ...asked("terminal", terminal),
        ...asked("size", size),
        ...asked("keys", keys)
      })
      if (answer.problem !== undefined) return yield* Effect.fail(failure(answer.problem.code, answer.problem.message))
      yield* say(answer)
    })
  )

const asked = <Key extends string, A>(key: Key, value: Option.Option<A>): { readonly [_ in Key]?: A } =>
  Option.isSome(value) ? ({ [key]: value.value } as { readonly [_ in Key]: A }) : {}

const say = ({ lines, terminals: all }: typeof TerminalControl.answer.Type) =>
  Effect.gen(function* () {
    const output = yield* Output
    const [first] = all
    if (lines === undefined || first === undefined) {
      if (output.json) return yield* output.line(jsonText(all, output))
      return yield* output.line(all.length === 0 ? "no terminals" : all.map(line).join("\n"))
    }
    if (output.json) return yield* output.line(jsonText({ terminal: first, lines }, output))
    if (lines.length > 0) yield* output.line(output.terminal ? SafeText.clean(lines.join("\n")) : lines.join("\n"))
    yield* output.note(line(first))
  })

const words = { prompt: "at its prompt", input: "waits for input", running: "running", exited: "exited" }

const line = (terminal: typeof ListedTerminal.Type): string =>
  SafeText.cleanLine(
    [
      `${terminal.id} (${terminal.type}${terminal.name === undefined ? "" : `, ${JSON.stringify(terminal.name)}`}) ${words[terminal.state]}`,
      ...(terminal.program === undefined ? [] : [terminal.program]),
      `${terminal.columns}x${terminal.rows}`,
      `opened in ${terminal.cwd} at ${terminal.openedAt}`
    ].join(", ")
  )

const sayUndriven = ({ session, terminal }: TerminalsOptions) =>
  Effect.gen(function* () {
    const note = `no process drives session "${session}": its terminals ended with the process that held them`
    if (Option.isSome(terminal)) return yield* Effect.fail(failure("terminal_not_found", note))
    const output = yield* Output
    if (output.json) return yield* output.line(jsonText([], output))
    yield* output.line("no terminals")
    yield* output.note(note)
  })

const isDriven = (session: SessionId) =>
  Effect.gen(function* () {
    const lease = yield* Effect.flatMap(SessionStore, (store) => store.lease(session))
    const now = yield* Clock.currentTimeMillis
    return Option.exists(lease, ({ expiresAt }) => expiresAt > now)
  })
