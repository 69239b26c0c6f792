/**
 * Any sequence of operations leaves a store as it leaves the one in memory, answer by answer.
 */
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Memory from "@afterturn/session-log/SessionStore/Memory"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { event, everything, header, holder, request } from "./SessionStore.js"

type Store = SessionStore["Type"]

/** One operation: what it answers must be the same of both stores. `id` makes the ids of one run its own. */
type Operation = (store: Store, id: (name: number) => SessionId) => Effect.Effect<unknown, unknown>

const session = FastCheck.nat({ max: 4 })
const small = FastCheck.nat({ max: 6 })
const typeName = FastCheck.constantFrom("a", "b", "c")

const newEvents = FastCheck.array(
  FastCheck.record({ type: typeName, ignorable: FastCheck.boolean(), text: FastCheck.string({ maxLength: 40 }) }),
  { maxLength: 4 }
).map((events) => events.map(({ ignorable, text, type }) => event(text, { type, ignorable })))

const create = session.map(
  (name): Operation =>
    (store, id) =>
      store.create(header(id(name), { createdAt: name % 3 }))
)

const commit = FastCheck.array(
  FastCheck.record({
    name: session,
    events: newEvents,
    expectedSeq: FastCheck.option(FastCheck.integer({ min: -1, max: 4 }), { nil: undefined }),
    alarms: FastCheck.array(FastCheck.record({ key: typeName, dueAt: FastCheck.option(small, { nil: null }) }), {
      maxLength: 2
    }),
    now: small
  }),
  { minLength: 1, maxLength: 5 }
).map(
  (requests): Operation =>
    (store, id) =>
      Effect.map(
        store.commit(
          requests.map(({ alarms, events, expectedSeq, name, now }) =>
            request(id(name), events, { expectedSeq, alarms, now })
          )
        ),
        withoutEpochs
      )
)

const fork = FastCheck.record({ parent: session, child: session, seedLength: small }).map(
  ({ child, parent, seedLength }): Operation =>
    (store, id) =>
      store.fork({ ...header(id(child), { seedLength, createdAt: child }), parent: id(parent) })
)

const remove = session.map(
  (name): Operation =>
    (store, id) =>
      store.remove(id(name))
)

const read = FastCheck.record({
  name: session,
  fromSeq: small,
  toSeq: small,
  types: FastCheck.option(FastCheck.uniqueArray(typeName), { nil: undefined }),
  limit: small,
  maxBytes: FastCheck.nat({ max: 80 })
}).map(
  ({ name, ...page }): Operation =>
    (store, id) =>
      store.read(id(name), page)
)

const list = FastCheck.record({ parent: FastCheck.option(session, { nil: undefined }), limit: small }).map(
  ({ limit, parent }): Operation =>
    (store, id) =>
      // Other runs share the store: only this run's sessions are looked at.
      Effect.map(
        store.list({
          after: undefined,
          limit: parent === undefined ? 10_000 : limit,
          cwd: undefined,
          parent: parent === undefined ? undefined : id(parent)
        }),
        (found) => found.filter((each) => each.id.startsWith(id(0).slice(0, -1)))
      )
)

const snapshot = FastCheck.record({ name: session, key: typeName, version: FastCheck.nat({ max: 1 }), seq: small }).map(
  ({ name, ...saved }): Operation =>
    (store, id) =>
      store.saveSnapshot(id(name), { ...saved, state: `${saved.seq}` })
)

const acquire = FastCheck.record({ name: session, now: small, ttl: small }).map(
  ({ name, now, ttl }): Operation =>
    (store, id) =>
      Effect.map(
        store.acquireLease({
          sessionId: id(name),
          holder: holder(`h${now}`),
          now,
          expiresAt: now + ttl,
          replaces: undefined
        }),
        withoutEpochs
      )
)

/** Appends under the lease that stands, or under one that does not. */
const commitLeased = FastCheck.record({ name: session, offset: FastCheck.nat({ max: 1 }), events: newEvents }).map(
  ({ events, name, offset }): Operation =>
    (store, id) =>
      Effect.flatMap(store.lease(id(name)), (lease) =>
        Effect.map(
          store.commit([
            request(id(name), events, { epoch: (lease._tag === "Some" ? lease.value.epoch : 0) + offset, now: 3 })
          ]),
          withoutEpochs
        )
      )
)

const release = session.map(
  (name): Operation =>
    (store, id) =>
      Effect.flatMap(store.lease(id(name)), (lease) =>
        lease._tag === "Some" ? store.releaseLease(id(name), lease.value.epoch) : Effect.void
      )
)

const dueAlarms = FastCheck.record({ until: small, now: small }).map(
  (query): Operation =>
    (store, id) =>
      // Other runs share the store: only this run's sessions are looked at.
      Effect.map(store.dueAlarms({ ...query, limit: 10_000 }), (found) =>
        found.filter((each) => each.sessionId.startsWith(id(0).slice(0, -1)))
      )
)

const gc: Operation = (store) => Effect.as(store.gc, "done")

/** Epochs grow in each store by numbers of its own. */
const withoutEpochs = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer, (key, value: unknown) => (key === "epoch" ? undefined : value)))

const operations = FastCheck.array(
  FastCheck.oneof(
    { weight: 4, arbitrary: create },
    { weight: 6, arbitrary: commit },
    { weight: 3, arbitrary: fork },
    { weight: 1, arbitrary: remove },
    { weight: 3, arbitrary: read },
    { weight: 1, arbitrary: list },
    { weight: 1, arbitrary: snapshot },
    { weight: 2, arbitrary: dueAlarms },
    { weight: 1, arbitrary: acquire },
    { weight: 1, arbitrary: commitLeased },
    { weight: 1, arbitrary: release },
    { weight: 1, arbitrary: FastCheck.constant(gc) }
  ),
  { maxLength: 30 }
)

/** All that can be seen of a session. */
const view = (store: Store, id: SessionId) =>
  Effect.map(
    Effect.all([
      store.header(id),
      store.read(id, everything),
      store.types(id),
      store.snapshots(id),
      store.lease(id),
      store.alarms(id)
    ]),
    withoutEpochs
  )

let run = 0

export const agreesWithMemory = <E>(name: string, store: Layer.Layer<SessionStore, E>, numRuns: number): void =>
  layer(store, { timeout: 30_000 })(`SessionStore agreement: ${name}`, (it) => {
    it.effect.prop(
      "answers every operation as the store in memory does",
      [operations],
      ([sequence]) =>
        Effect.scoped(
          Effect.gen(function* () {
            const subject = yield* SessionStore
            const model = Context.get(yield* Layer.build(Layer.fresh(Memory.layer)), SessionStore)
            const prefix = `run-${++run}-`
            const id = (which: number) => `${prefix}${which}` as SessionId
            for (const operation of sequence) {
              assert.deepStrictEqual(yield* operation(subject, id), yield* operation(model, id))
            }
            for (const which of [0, 1, 2, 3, 4]) {
              assert.deepStrictEqual(yield* view(subject, id(which)), yield* view(model, id(which)))
            }
          })
        ),
      { fastCheck: { numRuns } }
    )
  })
