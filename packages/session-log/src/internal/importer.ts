import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { EventTypes } from "../EventTypes.js"
import { toMillis } from "../Instant.js"
import type { SessionId } from "../SessionEvent.js"
import { headerVersion, SessionEvent, SessionHeader } from "../SessionEvent.js"
import { ImportRejected } from "../SessionLogError.js"
import type { NewStoredEvent, StoredHeader } from "../SessionStore.js"
import { copy, formatPath } from "./json.js"
import { decoder, describe } from "./parseError.js"
import { newRow } from "./rows.js"

/** Reads an export line by line. Synchronous; nothing is stored here. */
export interface Importer {
  /** The lines that a piece of text completes. */
  readonly push: (piece: string) => ReadonlyArray<string>
  /** The last line, when the text does not end with a line break. */
  readonly end: () => ReadonlyArray<string>
  readonly read: (line: string) => Either.Either<void, ImportRejected>
  /** Whether the line that is being received is still short enough. */
  readonly checkCarry: () => Either.Either<void, ImportRejected>
  /** The id of the session to be, once the header was read. */
  readonly id: () => SessionId | undefined
  readonly isFull: () => boolean
  readonly takeRows: () => ReadonlyArray<NewStoredEvent>
  readonly finish: () => Either.Either<Omit<StoredHeader, "lastSeq">, ImportRejected>
}

/** Rows are staged in pieces of about this size. */
const pieceEvents = 256
const pieceChars = 1024 * 1024
/** A line that is longer is no event: it would not fit a string for long. */
const maxLineChars = 256 * 1024 * 1024

interface State {
  readonly registry: (typeof EventTypes)["Service"]
  header: SessionHeader | undefined
  line: number
  /** The first empty line since the last one that was not: fine at the end only. */
  empty: number | undefined
  events: number
  rows: Array<NewStoredEvent>
  chars: number
}

type Read = Either.Either<void, ImportRejected>

export const make = (registry: (typeof EventTypes)["Service"], renamed: SessionId | undefined): Importer => {
  const state: State = { registry, header: undefined, line: 0, empty: undefined, events: 0, rows: [], chars: 0 }
  const lines = makeLines()
  return {
    ...lines,
    checkCarry: () =>
      lines.carried() <= maxLineChars
        ? Either.void
        : rejected(state.line + 1, `expected a line of at most ${maxLineChars} characters`),
    read: (line) => readLine(state, line),
    id: () => renamed ?? state.header?.id,
    isFull: () => state.rows.length >= pieceEvents || state.chars >= pieceChars,
    takeRows: () => {
      const rows = state.rows
      state.rows = []
      state.chars = 0
      return rows
    },
    finish: () => finish(state, renamed)
  }
}

const makeLines = () => {
  let carry = ""
  return {
    carried: () => carry.length,
    push: (piece: string): ReadonlyArray<string> => {
      const lines: Array<string> = []
      let start = 0
      for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", start)) {
        lines.push(carry + piece.slice(start, end))
        carry = ""
        start = end + 1
      }
      carry += piece.slice(start)
      return lines
    },
    end: (): ReadonlyArray<string> => {
      const last = carry
      carry = ""
      return last === "" ? [] : [last]
    }
  }
}

const rejected = (line: number, reason: string): Either.Either<never, ImportRejected> =>
  Either.left(new ImportRejected({ line, reason }))

const readLine = (state: State, text: string): Read => {
  state.line++
  if (text.trim() === "") {
    state.empty ??= state.line
    return Either.void
  }
  if (state.empty !== undefined) {
    return rejected(state.empty, `expected ${state.header === undefined ? "a header" : "an event"}, got an empty line`)
  }
  const parsed = parse(state.line === 1 ? text.replace(/^\uFEFF/, "") : text)
  if (Either.isLeft(parsed)) return rejected(state.line, `expected JSON: ${parsed.left}`)
  return state.header === undefined ? readHeader(state, parsed.right) : readEvent(state, parsed.right)
}

const parse = (text: string): Either.Either<unknown, string> =>
  Either.try({
    try: () => JSON.parse(text),
    catch: (error) => (error instanceof Error ? error.message : String(error))
  })

const decodeHeader = decoder(SessionHeader)
const decodeEvent = decoder(SessionEvent)
const hasVersion = Schema.is(Schema.Struct({ version: Schema.Int }))

const readHeader = (state: State, value: unknown): Read => {
  if (hasVersion(value) && value.version > headerVersion) {
    return rejected(
      state.line,
      `written by a newer version (header version ${value.version}, this release reads ${headerVersion})`
    )
  }
  const header = decodeHeader(value)
  if (Either.isLeft(header)) {
    return rejected(state.line, describe(header.left, "header"))
  }
  const { parent, seedLength = 0 } = header.right
  if (parent === undefined && seedLength > 0) {
    return rejected(
      state.line,
      `expected a parent, from which the first ${seedLength} events (seedLength) are, got none`
    )
  }
  state.header = header.right
  return Either.void
}

const readEvent = (state: State, value: unknown): Read => {
  const { line } = state
  const decoded = decodeEvent(value)
  if (Either.isLeft(decoded)) {
    return rejected(line, describe(decoded.left, "event"))
  }
  const event = decoded.right
  if (event.seq !== state.events) return rejected(line, `expected seq ${state.events}, got ${event.seq}`)
  const copied = copy(event.data, { normalizeZero: true })
  if (!copied.ok) return rejected(line, `${copied.fault.reason} at data${formatPath(copied.fault.path)}`)
  const problem = state.registry.get(event.type)?.problem(copied.value)
  if (problem !== undefined) return rejected(line, `expected an event "${event.type}": ${problem}`)
  keep(state, event, copied.value)
  return Either.void
}

const keep = (state: State, event: SessionEvent, data: unknown): void => {
  const { ignorable = false, sourceEventSeqs, time, type } = event
  const row = newRow({ type, data, sourceEventSeqs, ignorable }, toMillis(time))
  state.rows.push(row)
  state.chars += row.data.length
  state.events++
}

const finish = (
  state: State,
  renamed: SessionId | undefined
): Either.Either<Omit<StoredHeader, "lastSeq">, ImportRejected> => {
  const { events, header } = state
  if (header === undefined) return rejected(1, "expected a session header, got nothing")
  const seedLength = header.seedLength ?? 0
  if (seedLength > events) return rejected(1, `expected at least ${seedLength} events (seedLength), got ${events}`)
  const id = renamed ?? header.id
  if (header.parent === id) return rejected(1, `expected another session as parent, got "${id}" itself`)
  return Either.right({
    id,
    version: header.version,
    createdAt: toMillis(header.createdAt),
    cwd: header.cwd ?? null,
    title: header.title ?? null,
    parent: header.parent ?? null,
    seedLength,
    delegationDepth: header.delegationDepth
  })
}
