/**
 * Looking at the terminals of a session from another process: the command that goes through the mailbox, and who executes it.
 *
 * @since 0.1.0
 */
import * as Instant from "@afterturn/session-log/Instant"
import type { CommandHandler } from "@afterturn/session-log/Mailbox"
import { handler } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { TerminalInfo, Terminals } from "@afterturn/terminal/Terminals"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * A terminal as the command shows it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ListedTerminal = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  name: optional(Schema.String),
  cwd: Schema.String,
  state: Schema.Literal("prompt", "input", "running", "exited"),
  program: optional(Schema.String),
  columns: Schema.Number,
  rows: Schema.Number,
  openedAt: Instant.Instant,
  fullScreen: Schema.Boolean
})

/**
 * Lists terminals or, with `terminal`, shows one: after its size was changed and keys were pressed, where that is asked for. What could
 * not be done is the answer's `problem`.
 *
 * @since 0.1.0
 * @category commands
 */
export const TerminalControl = {
  name: "terminal-control",
  input: Schema.Struct({
    terminal: optional(Schema.String),
    size: optional(Schema.Struct({ columns: Schema.Number, rows: Schema.Number })),
    keys: optional(Schema.Array(Schema.String))
  }),
  answer: Schema.Struct({
    terminals: Schema.Array(ListedTerminal),
    lines: optional(Schema.Array(Schema.String)),
    problem: optional(Schema.Struct({ code: Schema.String, message: Schema.String }))
  })
}

/**
 * Executes the command for a session of this process.
 *
 * @since 0.1.0
 * @category operations
 */
export const serveTerminals = (terminals: Context.Tag.Service<Terminals>, session: SessionId): CommandHandler =>
  handler(TerminalControl, (input) =>
    input.terminal === undefined
      ? Effect.map(terminals.list(session), (all) => ({ terminals: all.map(listed) }))
      : Effect.catchAll(control(terminals, session, input.terminal, input), ({ code, message }) =>
          Effect.succeed({ terminals: [], problem: { code, message } })
        )
  )

/** Lines that are shown: a screen of a usual size, with some before it. */
const shownLines = 100

const control = (
  terminals: Context.Tag.Service<Terminals>,
  session: SessionId,
  id: string,
  { keys, size }: typeof TerminalControl.input.Type
) =>
  Effect.gen(function* () {
    if (size !== undefined) yield* terminals.resize(session, id, size)
    if (keys !== undefined) yield* terminals.press(session, id, keys)
    const { lines, terminal } = yield* terminals.read(session, id, { count: shownLines })
    return { terminals: [listed(terminal)], lines }
  })

const listed = ({
  cwd,
  id,
  isFullScreen,
  name,
  openedAt,
  program,
  size,
  state,
  type
}: TerminalInfo): typeof ListedTerminal.Type => ({
  id,
  type,
  ...(name === undefined ? {} : { name }),
  cwd,
  state,
  ...(program === undefined ? {} : { program }),
  ...size,
  openedAt,
  fullScreen: isFullScreen
})
