import * as Either from "effect/Either"
import { format } from "../Instant.js"
import type { SessionEvent, SessionHeader, SessionId, SessionSummary } from "../SessionEvent.js"
import { headerVersion } from "../SessionEvent.js"
import { SessionLogCorrupt, SessionVersionUnsupported } from "../SessionLogError.js"
import type { NewStoredEvent, StoredEvent, StoredHeader } from "../SessionStore.js"
import type { CheckedEvent } from "./check.js"

/** What `Instant` can write: years 0 through 9999. */
const minMillis = -62_167_219_200_000
export const maxMillis = 253_402_300_799_999

/** Events of a burst share their millisecond: its text is made once. */
const instantMemo = { millis: Number.NaN, text: "" }
const instant = (millis: number): string => {
  if (millis !== instantMemo.millis) {
    instantMemo.text = format(millis)
    instantMemo.millis = millis
  }
  return instantMemo.text
}

/** An event's row. Throws a `RangeError` when the text would be longer than a string can be. */
export const newRow = (event: CheckedEvent, time: number): NewStoredEvent => ({
  type: event.type,
  time,
  data: JSON.stringify(event.data),
  sourceEventSeqs: event.sourceEventSeqs === undefined ? null : JSON.stringify(event.sourceEventSeqs),
  ignorable: event.ignorable
})

/** An event as the log hands it out. */
export const stored = (event: CheckedEvent, seq: number, time: number): SessionEvent => ({
  seq,
  type: event.type,
  time: instant(time),
  data: event.data,
  ...(event.sourceEventSeqs === undefined ? {} : { sourceEventSeqs: event.sourceEventSeqs }),
  ...(event.ignorable ? { ignorable: true } : {})
})

export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

export const isCounts = (value: unknown): value is ReadonlyArray<number> => Array.isArray(value) && value.every(isCount)

export const isMillis = (value: number): boolean => Number.isInteger(value) && value >= minMillis && value <= maxMillis

const parse = (text: string): Either.Either<unknown, string> => {
  try {
    return Either.right(JSON.parse(text))
  } catch (error) {
    return Either.left(error instanceof Error ? error.message : String(error))
  }
}

/** The event of a row, or what is wrong with the row. */
export const decodeRow = (row: StoredEvent): Either.Either<SessionEvent, string> => {
  if (typeof row.type !== "string" || row.type === "") return Either.left("expected an event type, got none")
  if (!isMillis(row.time)) return Either.left(`expected a time in milliseconds, got ${row.time}`)
  const data = parse(row.data)
  if (Either.isLeft(data)) return Either.left(`expected JSON data: ${data.left}`)
  if (row.sourceEventSeqs === null && !row.ignorable) {
    return Either.right({ seq: row.seq, type: row.type, time: instant(row.time), data: data.right })
  }
  const sources = row.sourceEventSeqs === null ? Either.right(undefined) : parse(row.sourceEventSeqs)
  if (Either.isLeft(sources)) return Either.left(`expected JSON sourceEventSeqs: ${sources.left}`)
  if (sources.right !== undefined && !isCounts(sources.right)) {
    return Either.left("expected sourceEventSeqs to be an array of seqs")
  }
  return Either.right({
    seq: row.seq,
    type: row.type,
    time: instant(row.time),
    data: data.right,
    ...(sources.right === undefined ? {} : { sourceEventSeqs: sources.right }),
    ...(row.ignorable ? { ignorable: true } : {})
  })
}

export const corrupt = (sessionId: SessionId, seq: number, reason: string): SessionLogCorrupt =>
  new SessionLogCorrupt({ sessionId, seq, reason })

/** `undefined` for a header that this release reads. */
export const unsupported = (header: { readonly id: SessionId; readonly version: number }) =>
  header.version === headerVersion
    ? undefined
    : new SessionVersionUnsupported({ sessionId: header.id, version: header.version, supported: headerVersion })

/** What is wrong with a stored header, or `undefined`. */
export const headerProblem = (header: StoredHeader): string | undefined => {
  const { createdAt, delegationDepth, lastSeq, seedLength } = header
  if (!isMillis(createdAt)) return `expected createdAt in milliseconds, got ${createdAt}`
  if (!isCount(delegationDepth)) return `expected a delegationDepth from 0, got ${delegationDepth}`
  if (lastSeq !== -1 && !isCount(lastSeq)) return `expected a last seq from -1, got ${lastSeq}`
  if (!isCount(seedLength) || seedLength > lastSeq + 1) {
    return `expected a seedLength from 0 through ${lastSeq + 1}, got ${seedLength}`
  }
  return undefined
}

export const headerOf = (row: Omit<StoredHeader, "lastSeq">): SessionHeader => ({
  id: row.id,
  version: headerVersion,
  // A list must not end at one damaged header: who reads that session is told what is wrong with it.
  createdAt: format(isMillis(row.createdAt) ? row.createdAt : 0),
  ...(row.cwd === null ? {} : { cwd: row.cwd }),
  ...(row.title === null ? {} : { title: row.title }),
  ...(row.parent === null ? {} : { parent: row.parent }),
  ...(row.seedLength === 0 ? {} : { seedLength: row.seedLength }),
  delegationDepth: row.delegationDepth
})

export const summaryOf = (row: StoredHeader): SessionSummary => ({ ...headerOf(row), lastSeq: row.lastSeq })
