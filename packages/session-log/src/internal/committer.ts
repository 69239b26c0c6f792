import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type { SessionId } from "../SessionEvent.js"
import type { CommitRequest, CommitResult, NewStoredEvent, SessionStore, StoredAlarmChange } from "../SessionStore.js"
import { SessionStoreError } from "../SessionStore.js"
import type { CheckedEvent } from "./check.js"
import { eventSize } from "./commit.js"
import { eventLoopTurn } from "./eventLoop.js"
import { newRow } from "./rows.js"

/** An append that waits for its commit. Its events stay as they are until their batch is written. */
export interface Append {
  readonly sessionId: SessionId
  readonly expectedSeq: number | undefined
  readonly epoch: number | undefined
  readonly now: number
  readonly events: ReadonlyArray<CheckedEvent>
  readonly alarms?: ReadonlyArray<StoredAlarmChange> | undefined
}

/** `unwritable`: an event that is too long to be written as text. */
export type Outcome = CommitResult | { readonly _tag: "unwritable"; readonly type: string; readonly reason: string }

export interface Committer {
  /**
   * Joins the next batch. A caller that is interrupted before its append was taken leaves nothing; one that is interrupted
   * afterwards waits until its append is stored or refused, whole.
   */
  readonly submit: (append: Append) => Effect.Effect<Outcome, SessionStoreError>
}

export interface Bounds {
  readonly maxEvents: number
  readonly maxBytes: number
}

/** Hears of each append that the store has answered, with the rows that it was written as. */
export type Observer = (append: Append, result: CommitResult, request: CommitRequest) => void

type Result = Exit.Exit<Outcome, SessionStoreError>

interface Waiting {
  readonly append: Append
  state: "waiting" | "cancelled" | "taken" | "settled"
  resume: (result: Result) => void
}

const settle = (waiting: Waiting, result: Result): void => {
  waiting.state = "settled"
  waiting.resume(result)
}

interface Batch {
  readonly waiting: Array<Waiting>
  readonly requests: Array<CommitRequest>
}

/**
 * Group commit: one fiber takes whatever waits, writes it in one transaction, answers its callers and tells `committed`. What
 * waits costs no more than what its callers hold anyway: text is made only for the batch at hand.
 */
export const make = (
  commit: (typeof SessionStore)["Service"]["commit"],
  committed: Observer,
  bounds: Bounds
): Effect.Effect<Committer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = makeQueue()
    yield* Effect.addFinalizer(() => Effect.sync(queue.close))
    const writeBatch = Effect.uninterruptible(Effect.suspend(() => write(commit, committed, takeBatch(queue, bounds))))
    let written = 0
    const breath = Effect.suspend(() => (++written % batchesPerTurn === 0 ? eventLoopTurn : Effect.void))
    // Not `forever`, which yields at each turn: whoever was going to append before this fiber woke up has done so.
    const run: Effect.Effect<never> = Effect.flatMap(queue.awaitWork, () =>
      Effect.flatMap(writeBatch, () => Effect.flatMap(breath, () => run))
    )
    yield* Effect.forkScoped(run)
    return { submit: (append) => submit(queue, append) }
  })

/** Whoever appends again and again waits here for all else: the renewal of its own lease, for one. */
const batchesPerTurn = 8

interface Queue {
  readonly push: (waiting: Waiting) => void
  readonly take: () => Waiting | undefined
  readonly awaitWork: Effect.Effect<void>
  readonly close: () => void
}

const closed = new SessionStoreError({ reason: "unavailable", message: "expected an open session log, it was closed" })

/** Under steady load the queue is never empty: what was taken must not pile up before its head. */
const compactAt = 1024

const makeQueue = (): Queue => {
  let entries: Array<Waiting> = []
  let head = 0
  let wake: (() => void) | undefined
  let isClosed = false
  const take = (): Waiting | undefined => {
    while (head < entries.length) {
      if (head === compactAt) {
        entries = entries.slice(head)
        head = 0
      }
      const next = entries[head++]!
      if (next.state === "waiting") return next
    }
    entries = []
    head = 0
    return undefined
  }
  return {
    take,
    push: (waiting) => {
      if (isClosed) return settle(waiting, Exit.fail(closed))
      entries.push(waiting)
      const waker = wake
      wake = undefined
      waker?.()
    },
    awaitWork: Effect.suspend(() =>
      head < entries.length
        ? Effect.void
        : Effect.async<void>((resume) => {
            wake = () => resume(Effect.void)
          })
    ),
    close: () => {
      isClosed = true
      for (let next = take(); next !== undefined; next = take()) settle(next, Exit.fail(closed))
    }
  }
}

const submit = (queue: Queue, append: Append): Effect.Effect<Outcome, SessionStoreError> =>
  Effect.async((resume) => {
    const waiting: Waiting = { append, state: "waiting", resume }
    queue.push(waiting)
    return Effect.suspend(() => {
      if (waiting.state === "waiting") waiting.state = "cancelled"
      if (waiting.state !== "taken") return Effect.void
      return Effect.async<void>((settled) => {
        waiting.resume = () => settled(Effect.void)
      })
    })
  })

const takeBatch = (queue: Queue, bounds: Bounds): Batch => {
  const batch: Batch = { waiting: [], requests: [] }
  let events = 0
  let bytes = 0
  while (events < bounds.maxEvents && bytes < bounds.maxBytes) {
    const next = queue.take()
    if (next === undefined) break
    next.state = "taken"
    const rows = encode(next)
    if (rows === undefined) continue
    const { alarms, epoch, expectedSeq, now, sessionId } = next.append
    batch.waiting.push(next)
    batch.requests.push({ sessionId, expectedSeq, epoch, now, events: rows, alarms })
    // One that only sets alarms counts too: a batch has an end.
    events += Math.max(1, rows.length)
    for (const row of rows) bytes += eventSize(row)
  }
  return batch
}

const encode = (waiting: Waiting): ReadonlyArray<NewStoredEvent> | undefined => {
  const rows: Array<NewStoredEvent> = []
  for (const event of waiting.append.events) {
    try {
      rows.push(newRow(event, waiting.append.now))
    } catch (error) {
      const reason = `expected data that fits a string: ${error}`
      settle(waiting, Exit.succeed({ _tag: "unwritable", type: event.type, reason }))
      return undefined
    }
  }
  return rows
}

const write = (
  commit: (typeof SessionStore)["Service"]["commit"],
  committed: Observer,
  batch: Batch
): Effect.Effect<void> => {
  if (batch.requests.length === 0) return Effect.void
  return Effect.matchCause(
    Effect.suspend(() => commit(batch.requests)),
    {
      // A failure, or a defect of the store, belongs to this batch's callers; the next batch is tried anew.
      onFailure: (cause) => {
        for (const waiting of batch.waiting) settle(waiting, Exit.failCause(cause))
      },
      onSuccess: (results) => {
        batch.waiting.forEach((waiting, index) => {
          const result = results[index]
          settle(waiting, result === undefined ? missing : Exit.succeed(result))
        })
        batch.waiting.forEach((waiting, index) => {
          const result = results[index]
          const request = batch.requests[index]
          if (result !== undefined && request !== undefined) committed(waiting.append, result, request)
        })
      }
    }
  )
}

const missing = Exit.failCause(Cause.die(new Error("the store answered fewer requests than it was given")))
