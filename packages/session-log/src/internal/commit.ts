import type { CommitRequest, CommitResult, LeaseHolder, StoredLease } from "../SessionStore.js"

/** A lease row: `holder` is null once the lease was given up; the epoch stays. */
export interface LeaseRow {
  readonly epoch: number
  readonly holder: LeaseHolder | null
  readonly expiresAt: number
}

/** What the decision about a request needs to know of its session. */
export interface Head {
  readonly lastSeq: number
  readonly lease: LeaseRow | undefined
  /** The present by which the lease was given, when that is not the caller's. */
  readonly now?: number | undefined
}

export const storedLease = (sessionId: StoredLease["sessionId"], row: LeaseRow): StoredLease | undefined =>
  row.holder === null ? undefined : { sessionId, epoch: row.epoch, ...row.holder, expiresAt: row.expiresAt }

const leaseRefusal = (request: CommitRequest, { lease, now = request.now }: Head): CommitResult | undefined => {
  if (request.epoch !== undefined) {
    return lease !== undefined && lease.holder !== null && lease.epoch === request.epoch
      ? undefined
      : { _tag: "lease-lost" }
  }
  if (lease === undefined || lease.expiresAt <= now) return undefined
  const held = storedLease(request.sessionId, { ...lease, expiresAt: lease.expiresAt - now + request.now })
  return held === undefined ? undefined : { _tag: "leased", lease: held }
}

/**
 * What becomes of a request. The lease comes first: a writer that lost it must learn that, not that another wrote meanwhile.
 */
export const decide = (request: CommitRequest, head: Head | undefined): CommitResult => {
  if (head === undefined) return { _tag: "not-found" }
  const refusal = leaseRefusal(request, head)
  if (refusal !== undefined) return refusal
  return request.expectedSeq !== undefined && request.expectedSeq !== head.lastSeq
    ? { _tag: "conflict", actualSeq: head.lastSeq }
    : { _tag: "committed", firstSeq: head.lastSeq + 1 }
}

/** Whether a lease row stands in the way of a new holder. */
export const blocks = (
  row: LeaseRow | undefined,
  request: { readonly now: number; readonly replaces: { readonly epoch: number } | undefined }
): boolean =>
  row !== undefined && row.holder !== null && row.expiresAt > request.now && row.epoch !== request.replaces?.epoch

/** The first event of a type, required ones and ignorable ones apart. */
export interface TypeRow {
  readonly type: string
  readonly firstSeq: number
  readonly ignorable: boolean
}

/** One row a type: its first required event, or its first event when all are ignorable. Ordered by seq. */
export const strictest = (rows: Iterable<TypeRow>): ReadonlyArray<TypeRow> => {
  const byType = new Map<string, TypeRow>()
  for (const row of rows) {
    const present = byType.get(row.type)
    if (present === undefined || (present.ignorable && !row.ignorable)) byType.set(row.type, row)
  }
  return Array.from(byType.values()).sort((a, b) => a.firstSeq - b.firstSeq)
}

/** Counts toward a page's `maxBytes`: about what the event occupies as text. */
export const eventSize = (event: { readonly data: string; readonly sourceEventSeqs: string | null }): number =>
  event.data.length + (event.sourceEventSeqs === null ? 0 : event.sourceEventSeqs.length)
