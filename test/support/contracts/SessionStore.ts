/**
 * What every session store does. Run by each implementation with its own layer; all tests of a run share one store, so each
 * uses sessions of its own.
 */
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { CommitRequest, LeaseHolder, NewStoredEvent, StoredHeader } from "@afterturn/session-log/SessionStore"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"

let sequence = 0
/** An id that no other test of this process uses. */
export const freshId = (): SessionId => `s-${(++sequence).toString().padStart(6, "0")}` as SessionId

export const header = (
  id: SessionId,
  options?: Partial<Omit<StoredHeader, "id" | "lastSeq">>
): Omit<StoredHeader, "lastSeq"> => ({
  id,
  version: 1,
  createdAt: 1_000,
  cwd: null,
  title: null,
  parent: null,
  seedLength: 0,
  delegationDepth: 0,
  ...options
})

export const event = (data: string, options?: Partial<NewStoredEvent>): NewStoredEvent => ({
  type: "note",
  time: 5,
  data: JSON.stringify(data),
  sourceEventSeqs: null,
  ignorable: false,
  ...options
})

export const notes = (count: number, prefix = "n"): ReadonlyArray<NewStoredEvent> =>
  Array.from({ length: count }, (_, index) => event(`${prefix}${index}`))

export const request = (
  sessionId: SessionId,
  events: ReadonlyArray<NewStoredEvent>,
  options?: Partial<CommitRequest>
): CommitRequest => ({ sessionId, events, expectedSeq: undefined, epoch: undefined, now: 0, ...options })

export const holder = (name: string): LeaseHolder => ({ host: name, bootId: "boot", pid: 7, startedAt: "11" })

export type Page = Parameters<SessionStore["Type"]["read"]>[1]

export const everything: Page = {
  fromSeq: 0,
  toSeq: Number.MAX_SAFE_INTEGER,
  types: undefined,
  limit: 1_000,
  maxBytes: Number.MAX_SAFE_INTEGER
}

/** A new session holding these events. */
export const given = Effect.fnUntraced(function* (
  events: ReadonlyArray<NewStoredEvent>,
  options?: Partial<Omit<StoredHeader, "id" | "lastSeq">>
) {
  const store = yield* SessionStore
  const id = freshId()
  assert.isTrue(yield* store.create(header(id, options)))
  if (events.length > 0) yield* store.commit([request(id, events)])
  return id
})

const forkOf = Effect.fnUntraced(function* (parent: SessionId, seedLength: number) {
  const store = yield* SessionStore
  const id = freshId()
  assert.strictEqual(yield* store.fork({ ...header(id, { seedLength }), parent }), "forked")
  return id
})

/** The texts of the events that `event` made. */
export const texts = Effect.fnUntraced(function* (id: SessionId, page?: Partial<Page>) {
  const store = yield* SessionStore
  const events = yield* store.read(id, { ...everything, ...page })
  return events.map((found) => JSON.parse(found.data) as string)
})

const seqs = Effect.fnUntraced(function* (id: SessionId, page?: Partial<Page>) {
  const store = yield* SessionStore
  return (yield* store.read(id, { ...everything, ...page })).map((found) => found.seq)
})

const lastSeq = Effect.fnUntraced(function* (id: SessionId) {
  const store = yield* SessionStore
  return Option.getOrUndefined(yield* store.header(id))?.lastSeq
})

const acquire = Effect.fnUntraced(function* (
  id: SessionId,
  name: string,
  options?: { readonly now?: number; readonly expiresAt?: number; readonly replaces?: { readonly epoch: number } }
) {
  const store = yield* SessionStore
  const now = options?.now ?? 0
  return yield* store.acquireLease({
    sessionId: id,
    holder: holder(name),
    now,
    expiresAt: options?.expiresAt ?? now + 15,
    replaces: options?.replaces
  })
})

const acquired = Effect.fnUntraced(function* (id: SessionId, name: string) {
  const result = yield* acquire(id, name)
  if (result._tag !== "acquired") return assert.fail(`expected the lease, got ${result._tag}`)
  return result.lease
})

export const contract = <E>(name: string, store: Layer.Layer<SessionStore, E>): void =>
  layer(store, { timeout: 30_000 })(`SessionStore contract: ${name}`, (it) => {
    it.effect("stores a header and gives it back", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const full = header(freshId(), {
          version: 7,
          createdAt: 1_741_501_800_000,
          cwd: "/home/ada",
          title: "first",
          parent: "elsewhere" as SessionId,
          delegationDepth: 2
        })
        assert.isTrue(yield* store.create(full))
        assert.deepStrictEqual(yield* store.header(full.id), Option.some({ ...full, lastSeq: -1 }))
        assert.deepStrictEqual(yield* store.header(freshId()), Option.none())
      })
    )

    it.effect("keeps the session that has an id when another wants it", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given(notes(1), { title: "first" })
        assert.isFalse(yield* store.create(header(id, { title: "second" })))
        assert.strictEqual(Option.getOrThrow(yield* store.header(id)).title, "first")
        assert.deepStrictEqual(yield* texts(id), ["n0"])
      })
    )

    it.effect("gives back text of any kind", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const strange = ["\u0000", "a\u0000b", "\ud800", "\udc00x", "🙂", '\u0001"', "'; --", "", "é\u2028"]
        for (const text of strange) {
          const id = freshId()
          const written = header(id, { title: text, cwd: `/${text}` })
          assert.isTrue(yield* store.create(written))
          const type = `t${text}`
          const stored = event(text, { type, sourceEventSeqs: "[0]" })
          yield* store.commit([request(id, [stored])])
          yield* store.saveSnapshot(id, { key: `k${text}`, version: 1, seq: 0, state: JSON.stringify(text) })
          assert.deepStrictEqual(yield* store.header(id), Option.some({ ...written, lastSeq: 0 }))
          assert.deepStrictEqual(yield* store.read(id, { ...everything, types: [type] }), [{ ...stored, seq: 0 }])
          assert.deepStrictEqual(yield* store.types(id), [{ type, firstSeq: 0, ignorable: false }])
          assert.deepStrictEqual(
            yield* store.snapshot(id, `k${text}`, 1),
            Option.some({ key: `k${text}`, version: 1, seq: 0, state: JSON.stringify(text) })
          )
          const found = yield* store.list({ after: undefined, limit: 5, cwd: `/${text}`, parent: undefined })
          assert.deepStrictEqual(
            found.map((each) => each.id),
            [id]
          )
        }
      })
    )

    it.effect("appends events under contiguous seqs", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        const first = event("a", { time: 9, sourceEventSeqs: "[1,2]", ignorable: true })
        const second = event("b", { time: 3, type: "other" })
        assert.deepStrictEqual(yield* store.commit([request(id, [first, second])]), [
          { _tag: "committed", firstSeq: 0 }
        ])
        assert.deepStrictEqual(yield* store.commit([request(id, notes(1))]), [{ _tag: "committed", firstSeq: 2 }])
        assert.deepStrictEqual(yield* store.read(id, { ...everything, toSeq: 1 }), [
          { ...first, seq: 0 },
          { ...second, seq: 1 }
        ])
        assert.strictEqual(yield* lastSeq(id), 2)
      })
    )

    it.effect("appends batches of any size", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        const sizes = [1, 2, 3, 5, 31, 64, 65, 127, 128, 300]
        let total = 0
        for (const size of sizes) {
          const events = Array.from({ length: size }, (_, index) => event(`${total + index}`))
          assert.deepStrictEqual(yield* store.commit([request(id, events)]), [{ _tag: "committed", firstSeq: total }])
          total += size
        }
        assert.deepStrictEqual(
          yield* texts(id),
          Array.from({ length: total }, (_, index) => `${index}`)
        )
      })
    )

    it.effect("answers an append of nothing without storing anything", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given(notes(2))
        assert.deepStrictEqual(yield* store.commit([request(id, [])]), [{ _tag: "committed", firstSeq: 2 }])
        assert.deepStrictEqual(yield* store.commit([]), [])
        assert.strictEqual(yield* lastSeq(id), 1)
      })
    )

    it.effect("decides the requests of a commit one by one, in order", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const [a, b, missing] = [yield* given([]), yield* given(notes(3)), freshId()]
        const results = yield* store.commit([
          request(a, notes(2, "x")),
          request(missing, notes(1)),
          request(b, notes(1, "y"), { expectedSeq: 1 }),
          request(a, notes(1, "z"), { expectedSeq: 1 }),
          request(b, notes(1, "w"), { expectedSeq: 2 }),
          request(a, notes(1), { expectedSeq: 1 })
        ])
        assert.deepStrictEqual(results, [
          { _tag: "committed", firstSeq: 0 },
          { _tag: "not-found" },
          { _tag: "conflict", actualSeq: 2 },
          { _tag: "committed", firstSeq: 2 },
          { _tag: "committed", firstSeq: 3 },
          { _tag: "conflict", actualSeq: 2 }
        ])
        assert.deepStrictEqual(yield* texts(a), ["x0", "x1", "z0"])
        assert.deepStrictEqual(yield* texts(b), ["n0", "n1", "n2", "w0"])
        assert.deepStrictEqual(yield* store.header(missing), Option.none())
      })
    )

    it.effect("takes -1 as the seq of a session without events", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        const results = yield* store.commit([
          request(id, notes(1), { expectedSeq: 0 }),
          request(id, notes(1), { expectedSeq: -1 }),
          request(id, notes(1), { expectedSeq: -1 })
        ])
        assert.deepStrictEqual(
          results.map((result) => result._tag),
          ["conflict", "committed", "conflict"]
        )
      })
    )

    it.effect("commits requests for many sessions at once", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const ids = yield* Effect.forEach(Array.from({ length: 70 }), () => given([]))
        const results = yield* store.commit(ids.map((id, index) => request(id, notes(index % 4, id))))
        assert.isTrue(results.every((result) => result._tag === "committed" && result.firstSeq === 0))
        for (const [index, id] of ids.entries()) {
          assert.deepStrictEqual(
            yield* texts(id),
            notes(index % 4, id).map((each) => JSON.parse(each.data) as string)
          )
          assert.strictEqual(yield* lastSeq(id), (index % 4) - 1)
        }
      })
    )

    it.effect("loses and doubles no append among concurrent commits", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const [a, b] = [yield* given([]), yield* given([])]
        const results = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => index),
          (index) => store.commit([request(a, [event(`${index}`)]), request(b, [event(`${index}`)])]),
          { concurrency: "unbounded" }
        )
        const firsts = results.flat().map((result) => (result._tag === "committed" ? result.firstSeq : -1))
        const sorted = firsts.sort((x, y) => x - y)
        assert.deepStrictEqual(
          sorted,
          Array.from({ length: 80 }, (_, index) => index >> 1)
        )
        for (const id of [a, b]) {
          const stored = (yield* texts(id)).map(Number).sort((x, y) => x - y)
          assert.deepStrictEqual(
            stored,
            Array.from({ length: 40 }, (_, index) => index)
          )
          assert.deepStrictEqual(
            yield* seqs(id),
            Array.from({ length: 40 }, (_, index) => index)
          )
        }
      })
    )

    it.effect("stores all of an interrupted commit or nothing, and goes on", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        let expected = -1
        for (let round = 0; round < 20; round++) {
          const fiber = yield* Effect.fork(store.commit([request(id, notes(3))]))
          for (let turn = 0; turn < round; turn++) yield* Effect.yieldNow()
          yield* Fiber.interrupt(fiber)
          const after = (yield* lastSeq(id))!
          assert.isTrue(after === expected || after === expected + 3)
          expected = after
          assert.lengthOf(yield* texts(id), after + 1)
        }
        assert.deepStrictEqual(yield* store.commit([request(id, notes(1))]), [
          { _tag: "committed", firstSeq: expected + 1 }
        ])
      })
    )

    it.effect("reads pages bounded by seq, count and type", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        const events = Array.from({ length: 10 }, (_, index) =>
          event(`${index}`, { type: index % 3 === 0 ? "a" : "b" })
        )
        yield* store.commit([request(id, events)])
        assert.deepStrictEqual(yield* seqs(id, { fromSeq: 3, toSeq: 5 }), [3, 4, 5])
        assert.deepStrictEqual(yield* seqs(id, { fromSeq: 8 }), [8, 9])
        assert.deepStrictEqual(yield* seqs(id, { fromSeq: 10 }), [])
        assert.deepStrictEqual(yield* seqs(id, { limit: 2, fromSeq: 1 }), [1, 2])
        assert.deepStrictEqual(yield* seqs(id, { types: ["a"] }), [0, 3, 6, 9])
        assert.deepStrictEqual(yield* seqs(id, { types: ["a"], fromSeq: 1, limit: 2 }), [3, 6])
        assert.deepStrictEqual(yield* seqs(id, { types: ["a", "b"], limit: 3 }), [0, 1, 2])
        assert.deepStrictEqual(yield* seqs(id, { types: ["c"] }), [])
        assert.deepStrictEqual(yield* seqs(id, { types: [] }), [])
        assert.deepStrictEqual(yield* seqs(freshId()), [])
      })
    )

    it.effect("ends a page at its byte budget, after at least one event", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        yield* store.commit([
          request(
            id,
            Array.from({ length: 6 }, () => event("x".repeat(98)))
          )
        ])
        assert.deepStrictEqual(yield* seqs(id, { maxBytes: 1 }), [0])
        assert.deepStrictEqual(yield* seqs(id, { maxBytes: 101 }), [0, 1])
        assert.deepStrictEqual(yield* seqs(id, { fromSeq: 2, maxBytes: 250 }), [2, 3, 4])
        assert.deepStrictEqual(yield* seqs(id, { types: ["note"], fromSeq: 4, maxBytes: 1 }), [4])
      })
    )

    it.effect("stores an event of one megabyte", () =>
      Effect.gen(function* () {
        const id = yield* given([event("ü".repeat(1_000_000))])
        assert.deepStrictEqual(yield* texts(id), ["ü".repeat(1_000_000)])
      })
    )

    it.effect("lists sessions newest first, page by page", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const late = 8_000_000_000_000
        const ids: Array<SessionId> = []
        for (const age of [2, 0, 1, 1, 1]) ids.push(yield* given(notes(age), { createdAt: late + age }))
        const page = (limit: number, after: { readonly createdAt: number; readonly id: SessionId } | undefined) =>
          store.list({ after, limit, cwd: undefined, parent: undefined })
        const first = yield* page(2, undefined)
        const second = yield* page(2, first[1])
        const third = yield* page(1, second[1])
        const listed = [...first, ...second, ...third]
        assert.deepStrictEqual(
          listed.map((found) => found.id),
          [ids[0], ids[4], ids[3], ids[2], ids[1]]
        )
        assert.deepStrictEqual(
          listed.map((found) => found.lastSeq),
          [1, 0, 0, 0, -1]
        )
        assert.deepStrictEqual(yield* page(0, undefined), [])
        const rest = yield* page(1_000, third[0])
        assert.isTrue(rest.every((found) => found.createdAt < late))
        const ends = yield* page(1_000, { createdAt: 0, id: "a" as SessionId })
        assert.deepStrictEqual(ends, [])
      })
    )

    it.effect("lists the sessions of a folder and of a parent", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const parent = yield* given([])
        const cwd = `/${parent}`
        const both = yield* given([], { cwd, parent, createdAt: 3 })
        const here = yield* given([], { cwd, createdAt: 2 })
        const child = yield* given([], { parent, createdAt: 1 })
        const listed = (query: { readonly cwd?: string; readonly parent?: SessionId }) =>
          Effect.map(store.list({ after: undefined, limit: 10, cwd: query.cwd, parent: query.parent }), (found) =>
            found.map((each) => each.id)
          )
        assert.deepStrictEqual(yield* listed({ cwd }), [both, here])
        assert.deepStrictEqual(yield* listed({ parent }), [both, child])
        assert.deepStrictEqual(yield* listed({ cwd, parent }), [both])
        assert.deepStrictEqual(yield* listed({ cwd: "/nowhere-else" }), [])
        yield* store.remove(both)
        assert.deepStrictEqual(yield* listed({ cwd }), [here])
        assert.deepStrictEqual(yield* listed({ parent }), [child])
      })
    )

    it.effect("removes a session with everything that is its own", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given(notes(3))
        const { epoch } = yield* acquired(id, "a")
        yield* store.saveSnapshot(id, { key: "k", version: 1, seq: 2, state: "1" })
        assert.isTrue(yield* store.remove(id))
        assert.isFalse(yield* store.remove(id))
        assert.deepStrictEqual(yield* store.header(id), Option.none())
        assert.deepStrictEqual(yield* texts(id), [])
        assert.deepStrictEqual(yield* store.types(id), [])
        assert.deepStrictEqual(yield* store.snapshots(id), [])
        assert.deepStrictEqual(yield* store.lease(id), Option.none())
        assert.isFalse(yield* store.renewLease(id, epoch, 100))
        assert.deepStrictEqual(yield* store.commit([request(id, notes(1), { epoch })]), [{ _tag: "not-found" }])
      })
    )

    it.effect("gives a session created anew under an old id nothing of the old one", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([event("a"), event("b", { type: "old" })])
        yield* store.saveSnapshot(id, { key: "k", version: 1, seq: 1, state: "1" })
        const old = yield* acquired(id, "a")
        yield* store.remove(id)
        assert.isTrue(yield* store.create(header(id)))
        assert.strictEqual(yield* lastSeq(id), -1)
        assert.deepStrictEqual(yield* store.types(id), [])
        const next = yield* acquired(id, "b")
        assert.isAbove(next.epoch, old.epoch)
        assert.deepStrictEqual(
          yield* store.commit([
            request(id, notes(1), { epoch: old.epoch }),
            request(id, notes(1), { epoch: next.epoch })
          ]),
          [{ _tag: "lease-lost" }, { _tag: "committed", firstSeq: 0 }]
        )
        yield* store.saveSnapshot(id, { key: "k", version: 1, seq: 1, state: "of the old session" })
        assert.deepStrictEqual(yield* store.snapshots(id), [])
        assert.deepStrictEqual(yield* texts(id), ["n0"])
        assert.deepStrictEqual(yield* store.types(id), [{ type: "note", firstSeq: 0, ignorable: false }])
      })
    )

    it.effect("forks a prefix that both go on from by themselves", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const parent = yield* given(notes(5, "p"))
        const child = yield* forkOf(parent, 3)
        assert.deepStrictEqual(yield* texts(child), ["p0", "p1", "p2"])
        assert.strictEqual(yield* lastSeq(child), 2)
        assert.deepStrictEqual(
          yield* store.commit([request(child, notes(2, "c"), { expectedSeq: 2 }), request(parent, notes(1, "q"))]),
          [
            { _tag: "committed", firstSeq: 3 },
            { _tag: "committed", firstSeq: 5 }
          ]
        )
        assert.deepStrictEqual(yield* texts(child), ["p0", "p1", "p2", "c0", "c1"])
        assert.deepStrictEqual(yield* seqs(child), [0, 1, 2, 3, 4])
        assert.deepStrictEqual(yield* texts(parent), ["p0", "p1", "p2", "p3", "p4", "q0"])
        assert.deepStrictEqual(yield* seqs(child, { fromSeq: 1, toSeq: 3 }), [1, 2, 3])
        assert.deepStrictEqual(yield* seqs(child, { fromSeq: 2, limit: 2 }), [2, 3])
        const summary = Option.getOrThrow(yield* store.header(child))
        assert.deepInclude(summary, { parent, seedLength: 3 })
      })
    )

    it.effect("forks at either end of a session", () =>
      Effect.gen(function* () {
        const parent = yield* given(notes(2))
        const none = yield* forkOf(parent, 0)
        const all = yield* forkOf(parent, 2)
        assert.deepStrictEqual(yield* texts(none), [])
        assert.strictEqual(yield* lastSeq(none), -1)
        assert.deepStrictEqual(yield* texts(all), ["n0", "n1"])
      })
    )

    it.effect("refuses a fork of what is not there or under a taken id", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const parent = yield* given(notes(2))
        const fork = (id: SessionId, from: SessionId, seedLength: number) =>
          store.fork({ ...header(id, { seedLength }), parent: from })
        assert.strictEqual(yield* fork(parent, parent, 1), "id-taken")
        const id = freshId()
        assert.strictEqual(yield* fork(id, freshId(), 0), "parent-not-found")
        assert.strictEqual(yield* fork(id, parent, 3), "parent-not-found")
        assert.deepStrictEqual(yield* store.header(id), Option.none())
        assert.deepStrictEqual(yield* texts(id), [])
      })
    )

    it.effect("forks forks, at points before and after where they parted", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const a = yield* given(notes(4, "a"))
        const b = yield* forkOf(a, 3)
        yield* store.commit([request(b, notes(3, "b"))])
        const c = yield* forkOf(b, 5)
        yield* store.commit([request(c, notes(1, "c"))])
        const early = yield* forkOf(c, 2)
        yield* store.commit([request(early, notes(1, "e"))])
        const edge = yield* forkOf(c, 3)
        assert.deepStrictEqual(yield* texts(c), ["a0", "a1", "a2", "b0", "b1", "c0"])
        assert.deepStrictEqual(yield* texts(early), ["a0", "a1", "e0"])
        assert.deepStrictEqual(yield* texts(edge), ["a0", "a1", "a2"])
        assert.deepStrictEqual(yield* texts(c, { fromSeq: 2, toSeq: 5, limit: 3 }), ["a2", "b0", "b1"])
        assert.deepStrictEqual(yield* texts(c, { types: ["note"], limit: 4 }), ["a0", "a1", "a2", "b0"])
      })
    )

    it.effect("keeps what forks share when a parent is removed", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const parent = yield* given(notes(5, "p"))
        const child = yield* forkOf(parent, 3)
        yield* store.commit([request(child, notes(1, "c"))])
        const grandchild = yield* forkOf(child, 4)
        assert.isTrue(yield* store.remove(parent))
        assert.isTrue(yield* store.remove(child))
        yield* store.gc
        assert.deepStrictEqual(yield* texts(grandchild), ["p0", "p1", "p2", "c0"])
        const great = yield* forkOf(grandchild, 2)
        yield* store.commit([request(great, notes(1, "g"))])
        assert.isTrue(yield* store.create(header(parent)))
        yield* store.commit([request(parent, notes(1, "anew"))])
        assert.deepStrictEqual(yield* texts(parent), ["anew0"])
        assert.isTrue(yield* store.remove(grandchild))
        assert.deepStrictEqual(yield* texts(great), ["p0", "p1", "g0"])
        assert.isTrue(yield* store.remove(great))
        assert.isTrue(yield* store.remove(parent))
        assert.deepStrictEqual(yield* store.gc, { events: 0 })
      })
    )

    it.effect("finds the sessions whose holders let their lease expire, the longest ago first", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const [late, early, live, free] = [yield* given([]), yield* given([]), yield* given([]), yield* given([])]
        yield* acquire(late, "a", { now: 3_000, expiresAt: 3_020 })
        yield* acquire(early, "a", { now: 3_000, expiresAt: 3_010 })
        yield* acquire(live, "a", { now: 3_000, expiresAt: 3_031 })
        const givenUp = yield* acquire(free, "a", { now: 3_000, expiresAt: 3_010 })
        if (givenUp._tag === "acquired") yield* store.releaseLease(free, givenUp.lease.epoch)
        const mine = new Set([late, early, live, free])
        const expired = (limit: number) =>
          Effect.map(store.expiredLeases({ now: 3_030, limit }), (ids) => ids.filter((id) => mine.has(id)))
        assert.deepStrictEqual(yield* expired(1_000), [early, late])
        yield* store.remove(early)
        assert.deepStrictEqual(yield* expired(1_000), [late])
        assert.deepStrictEqual(yield* store.expiredLeases({ now: 3_030, limit: 0 }), [])
      })
    )

    it.effect("names the types of a session with their first seq", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([
          event("0", { type: "b" }),
          event("1", { type: "a", ignorable: true }),
          event("2", { type: "b" })
        ])
        yield* store.commit([request(id, [event("3", { type: "a", ignorable: true }), event("4", { type: "c" })])])
        assert.deepStrictEqual(yield* store.types(id), [
          { type: "b", firstSeq: 0, ignorable: false },
          { type: "a", firstSeq: 1, ignorable: true },
          { type: "c", firstSeq: 4, ignorable: false }
        ])
        const child = yield* forkOf(id, 4)
        assert.deepStrictEqual(
          (yield* store.types(child)).map((found) => found.type),
          ["b", "a"]
        )
        yield* store.commit([request(child, [event("4", { type: "d" }), event("5", { type: "c" })])])
        assert.deepStrictEqual((yield* store.types(child)).slice(2), [
          { type: "d", firstSeq: 4, ignorable: false },
          { type: "c", firstSeq: 5, ignorable: false }
        ])
      })
    )

    it.effect("names the first required event of a type that is ignorable elsewhere", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([event("0", { ignorable: true }), event("1"), event("2", { ignorable: true })])
        assert.deepStrictEqual(yield* store.types(id), [{ type: "note", firstSeq: 1, ignorable: false }])
      })
    )

    it.effect("forgets the types of a commit that failed to store them", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given(notes(1))
        yield* store.commit([request(id, [event("x", { type: "lost" })], { expectedSeq: 7 })])
        assert.deepStrictEqual(
          (yield* store.types(id)).map((found) => found.type),
          ["note"]
        )
        yield* store.commit([request(id, [event("x", { type: "lost" })])])
        assert.deepStrictEqual(
          (yield* store.types(id)).map((found) => found.type),
          ["note", "lost"]
        )
      })
    )

    it.effect("keeps the newest snapshot of a version", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given(notes(9))
        const save = (key: string, version: number, seq: number, state: string) =>
          store.saveSnapshot(id, { key, version, seq, state })
        yield* save("k", 1, 4, "four")
        yield* save("k", 1, 3, "three")
        assert.deepStrictEqual(
          yield* store.snapshot(id, "k", 1),
          Option.some({ key: "k", version: 1, seq: 4, state: "four" })
        )
        yield* save("k", 1, 5, "five")
        yield* save("j", 2, 0, "other")
        assert.deepStrictEqual(yield* store.snapshots(id), [
          { key: "j", version: 2, seq: 0, state: "other" },
          { key: "k", version: 1, seq: 5, state: "five" }
        ])
        assert.deepStrictEqual(yield* store.snapshot(id, "k", 2), Option.none())
        yield* save("k", 2, 1, "newer fold")
        assert.deepStrictEqual(
          yield* store.snapshot(id, "k", 2),
          Option.some({ key: "k", version: 2, seq: 1, state: "newer fold" })
        )
      })
    )

    it.effect("stores no snapshot of a missing session or past its last event", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given(notes(1))
        yield* store.saveSnapshot(id, { key: "k", version: 1, seq: 1, state: "1" })
        assert.deepStrictEqual(yield* store.snapshots(id), [])
        const missing = freshId()
        yield* store.saveSnapshot(missing, { key: "k", version: 1, seq: -1, state: "1" })
        assert.deepStrictEqual(yield* store.snapshots(missing), [])
      })
    )

    it.effect("lets one holder have a lease until it expires", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        assert.deepStrictEqual(yield* store.lease(id), Option.none())
        const first = yield* acquire(id, "a", { now: 100, expiresAt: 115 })
        assert.strictEqual(first._tag, "acquired")
        const row = Option.getOrThrow(yield* store.lease(id))
        assert.deepInclude(row, { sessionId: id, expiresAt: 115, ...holder("a") })
        assert.deepStrictEqual(yield* acquire(id, "b", { now: 114 }), { _tag: "held", lease: row })
        const second = yield* acquire(id, "b", { now: 115 })
        if (second._tag !== "acquired") return assert.fail(second._tag)
        assert.isAbove(second.lease.epoch, row.epoch)
        assert.deepStrictEqual(yield* store.lease(id), Option.some(second.lease))
        assert.deepStrictEqual(yield* acquire(freshId(), "a"), { _tag: "not-found" })
      })
    )

    it.effect("replaces a holder known to be dead, unless another was faster", () =>
      Effect.gen(function* () {
        const id = yield* given([])
        const dead = yield* acquired(id, "dead")
        const second = yield* acquire(id, "b", { replaces: { epoch: dead.epoch } })
        assert.strictEqual(second._tag, "acquired")
        const third = yield* acquire(id, "c", { replaces: { epoch: dead.epoch } })
        if (third._tag !== "held") return assert.fail(third._tag)
        assert.strictEqual(third.lease.host, "b")
      })
    )

    it.effect("gives a free lease to exactly one of many", () =>
      Effect.gen(function* () {
        const id = yield* given([])
        const results = yield* Effect.forEach(Array.from({ length: 8 }), (_, index) => acquire(id, `h${index}`), {
          concurrency: "unbounded"
        })
        assert.lengthOf(
          results.filter((result) => result._tag === "acquired"),
          1
        )
      })
    )

    it.effect("renews a lease for its own epoch only", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        const first = yield* acquired(id, "a")
        assert.isTrue(yield* store.renewLease(id, first.epoch, 500))
        assert.strictEqual(Option.getOrThrow(yield* store.lease(id)).expiresAt, 500)
        const second = yield* acquire(id, "b", { now: 500, expiresAt: 600 })
        assert.strictEqual(second._tag, "acquired")
        assert.isFalse(yield* store.renewLease(id, first.epoch, 900))
        assert.strictEqual(Option.getOrThrow(yield* store.lease(id)).expiresAt, 600)
      })
    )

    it.effect("remembers the epoch of a lease that was given up", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        const first = yield* acquired(id, "a")
        yield* store.releaseLease(id, first.epoch)
        yield* store.releaseLease(id, first.epoch)
        assert.deepStrictEqual(yield* store.lease(id), Option.none())
        assert.isFalse(yield* store.renewLease(id, first.epoch, 900))
        assert.deepStrictEqual(yield* store.commit([request(id, notes(1), { epoch: first.epoch })]), [
          { _tag: "lease-lost" }
        ])
        const second = yield* acquired(id, "b")
        assert.isAbove(second.epoch, first.epoch)
        yield* store.releaseLease(id, first.epoch)
        assert.isTrue(Option.isSome(yield* store.lease(id)))
      })
    )

    it.effect("lets the holder of a live lease write, and no one else", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        const lease = yield* acquired(id, "a")
        assert.deepStrictEqual(
          yield* store.commit([
            request(id, notes(1), { now: 1 }),
            request(id, notes(1), { now: 1, epoch: lease.epoch + 1 }),
            request(id, notes(1), { now: 1, epoch: lease.epoch }),
            request(id, notes(1), { now: lease.expiresAt + 5, epoch: lease.epoch })
          ]),
          [
            { _tag: "leased", lease },
            { _tag: "lease-lost" },
            { _tag: "committed", firstSeq: 0 },
            { _tag: "committed", firstSeq: 1 }
          ]
        )
        assert.deepStrictEqual(yield* store.commit([request(id, notes(1), { now: lease.expiresAt })]), [
          { _tag: "committed", firstSeq: 2 }
        ])
      })
    )

    it.effect("tells a writer that lost its lease so before any conflict", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given([])
        const first = yield* acquired(id, "a")
        const second = yield* acquire(id, "b", { now: first.expiresAt })
        if (second._tag !== "acquired") return assert.fail(second._tag)
        yield* store.commit([request(id, notes(2), { epoch: second.lease.epoch })])
        assert.deepStrictEqual(
          yield* store.commit([
            request(id, notes(1), { epoch: first.epoch, expectedSeq: -1 }),
            request(id, notes(1), { now: first.expiresAt, expectedSeq: -1 })
          ]),
          [{ _tag: "lease-lost" }, { _tag: "leased", lease: second.lease }]
        )
      })
    )

    it.scoped("shows a staged session when it is published, whole", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = freshId()
        const staging = yield* store.stage
        yield* staging.write(notes(3, "a"))
        yield* staging.write([])
        yield* staging.write([event("last", { type: "end", ignorable: true })])
        assert.deepStrictEqual(yield* store.header(id), Option.none())
        const published = header(id, { title: "imported", parent: "gone" as SessionId, seedLength: 2 })
        assert.isTrue(yield* staging.publish(published))
        assert.deepStrictEqual(yield* store.header(id), Option.some({ ...published, lastSeq: 3 }))
        assert.deepStrictEqual(yield* texts(id), ["a0", "a1", "a2", "last"])
        assert.deepStrictEqual(yield* store.types(id), [
          { type: "note", firstSeq: 0, ignorable: false },
          { type: "end", firstSeq: 3, ignorable: true }
        ])
        yield* store.commit([request(id, notes(1, "b"))])
        assert.deepStrictEqual(yield* seqs(id), [0, 1, 2, 3, 4])
        const child = yield* forkOf(id, 4)
        assert.deepStrictEqual(yield* texts(child), ["a0", "a1", "a2", "last"])
      })
    )

    it.effect("keeps a published session when the staging's scope closes, and drops an unpublished one", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const [published, dropped] = [freshId(), freshId()]
        yield* Effect.scoped(
          Effect.gen(function* () {
            const [first, second] = [yield* store.stage, yield* store.stage]
            yield* first.write(notes(2))
            yield* second.write(notes(2))
            assert.isTrue(yield* first.publish(header(published)))
          })
        )
        assert.deepStrictEqual(yield* texts(published), ["n0", "n1"])
        assert.deepStrictEqual(yield* store.header(dropped), Option.none())
        assert.deepStrictEqual(yield* store.gc, { events: 0 })
      })
    )

    it.scoped("refuses to publish under a taken id and can be published under another", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const taken = yield* given(notes(1, "old"))
        const staging = yield* store.stage
        yield* staging.write(notes(2))
        assert.isFalse(yield* staging.publish(header(taken)))
        assert.deepStrictEqual(yield* texts(taken), ["old0"])
        const id = freshId()
        assert.isTrue(yield* staging.publish(header(id)))
        assert.deepStrictEqual(yield* texts(id), ["n0", "n1"])
      })
    )

    it.effect("refuses a staging that is over", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const scope = yield* Scope.make()
        const [published, closed] = yield* Scope.extend(Effect.all([store.stage, store.stage]), scope)
        const id = freshId()
        yield* published.publish(header(id))
        yield* Scope.close(scope, Exit.void)
        for (const use of [
          published.write(notes(1)),
          closed.write(notes(1)),
          published.publish(header(freshId())),
          closed.publish(header(freshId()))
        ]) {
          assert.strictEqual((yield* Effect.flip(use)).reason, "unavailable")
        }
        assert.strictEqual(yield* lastSeq(id), -1)
      })
    )

    it.scoped("collects nothing that is in use", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const parent = yield* given(notes(4))
        const child = yield* forkOf(parent, 2)
        const staging = yield* store.stage
        yield* staging.write(notes(2, "staged"))
        assert.deepStrictEqual(yield* store.gc, { events: 0 })
        assert.deepStrictEqual(yield* texts(parent), ["n0", "n1", "n2", "n3"])
        assert.deepStrictEqual(yield* texts(child), ["n0", "n1"])
        const id = freshId()
        assert.isTrue(yield* staging.publish(header(id)))
        assert.deepStrictEqual(yield* texts(id), ["staged0", "staged1"])
      })
    )
  })
