/** One run: its steps, then an end in order, and what is left to be judged. */
import type { Agent } from "@afterturn/agent/Agent"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import * as Instants from "@afterturn/session-log/Instant"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { SessionStore, StoredHeader } from "@afterturn/session-log/SessionStore"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { Evidence, RawSession } from "../../SimulationCheck.js"
import type { SimulationStep } from "../../SimulationStep.js"
import type { LiveHost } from "./host.js"
import { openSession, within } from "./host.js"
import { asking } from "./model.js"
import type { Stage } from "./stage.js"
import { beside, boot, burial, stop } from "./stage.js"

/** The clock of a run. */
export interface Time {
  readonly settle: Effect.Effect<void>
  readonly advance: (duration: Duration.DurationInput) => Effect.Effect<void>
  readonly setTime: (millis: number) => Effect.Effect<void>
  /** How many timers wait. */
  readonly timers: Effect.Effect<number>
}

export const play = <R>(stage: Stage<R>, time: Time, steps: ReadonlyArray<SimulationStep>): Effect.Effect<void> =>
  Effect.forEach(
    steps,
    (step) => {
      stage.coverage.count("steps", step.do)
      return Effect.zipRight(perform(stage, time, step), time.settle)
    },
    { discard: true }
  )

const perform = <R>(stage: Stage<R>, time: Time, step: SimulationStep): Effect.Effect<void> => {
  if (step.do === "wait") return time.advance(step.seconds * 1000)
  if (step.do === "clock") {
    return Effect.flatMap(Instants.now, (now) => time.setTime(Instants.toMillis(now) + step.seconds * 1000))
  }
  if (step.do === "boot") return beside(stage, "boot", boot(stage, step.host))
  const host = stage.hosts.get(step.host)
  return host === undefined ? Effect.void : onHost(stage, host, step)
}

type HostStep = Exclude<SimulationStep, { readonly do: "wait" | "clock" | "boot" }>

const onHost = <R>(stage: Stage<R>, host: LiveHost<R>, step: HostStep): Effect.Effect<void> => {
  switch (step.do) {
    case "stop":
      return beside(stage, "stop", stop(stage, host))
    case "crash":
      return crash(host, step)
    case "fault":
      host.gate.fault = { left: step.operations, fault: step.fault, reads: step.reads }
      return Effect.void
    case "slow":
      host.gate.slow = { left: step.operations, millis: step.millis }
      return Effect.void
    case "provider":
      host.provider.left = step.requests
      host.provider.status = step.status
      return Effect.void
    default:
      return beside(stage, `${step.do} of ${step.session}`, inSession(stage, host, step))
  }
}

const crash = <R>({ gate }: LiveHost<R>, { when, writes }: Extract<HostStep, { readonly do: "crash" }>) => {
  if (writes > 0) {
    gate.crash = { writes: writes - 1, when }
    return Effect.void
  }
  gate.coverage.count("crash", "at rest")
  gate.isDead = true
  return Effect.asVoid(Deferred.succeed(gate.died, undefined))
}

type SessionStep = Extract<HostStep, { readonly session: string }>

const inSession = <R>(stage: Stage<R>, host: LiveHost<R>, step: SessionStep): Effect.Effect<void> => {
  const id = SessionId.make(step.session)
  const agent = openSession(stage, host, id)
  switch (step.do) {
    case "open":
      return within(stage, host, "open", agent)
    case "release":
      return release(host, id)
    case "fork":
      return within(
        stage,
        host,
        "fork",
        Effect.flatMap(SessionLog, (log) => log.fork(id, { id: SessionId.make(step.as) }))
      )
    case "say": {
      const message = AgentMessage.user(asking(step.replies))
      const said = (found: Agent) => (step.steer === true ? found.steer(message) : found.followup(message))
      return within(
        stage,
        host,
        "say",
        Effect.flatMap(agent, (found) => accepted(stage, id, said(found)))
      )
    }
    case "cancel":
      return within(
        stage,
        host,
        "cancel",
        Effect.flatMap(agent, (found) => found.cancel("a person has had enough"))
      )
    case "act": {
      const action = stage.scenario.actions?.[step.action]
      return action === undefined ? Effect.void : within(stage, host, step.action, action(id, step.input))
    }
  }
}

const release = <R>(host: LiveHost<R>, id: SessionId): Effect.Effect<void> =>
  Effect.suspend(() => {
    const scope = host.sessions.get(id)
    host.sessions.delete(id)
    return scope === undefined ? Effect.void : Effect.provide(Scope.close(scope, Exit.void), host.heard)
  })

const accepted = <R, E>(stage: Stage<R>, id: SessionId, said: Effect.Effect<AgentMessage.AgentMessage, E>) =>
  Effect.map(said, (message) => void stage.promised.messages.push({ session: id, id: message.id }))

/**
 * Good weather for a while: everything that was owed has to come now. A person speaks to each session twice, with time between, for
 * that is what makes notices come that had stayed silent.
 */
export const finale = <R>(stage: Stage<R>, time: Time): Effect.Effect<void> =>
  Effect.gen(function* () {
    stage.isTired = true
    for (const { gate, provider } of stage.hosts.values()) {
      gate.crash = undefined
      gate.fault = undefined
      gate.slow = undefined
      provider.left = 0
    }
    // What the store holds up comes through, what it has refused is tried again, and leases of the dead run out.
    yield* time.advance("30 minutes")
    yield* beside(stage, "boot", boot(stage, "a"))
    yield* time.settle
    for (const pause of ["2 hours", "10 minutes"] as const) {
      yield* everySession(stage, time, speak)
      yield* time.advance(pause)
    }
  })

type InSession = <R>(stage: Stage<R>, host: LiveHost<R>, id: SessionId) => Effect.Effect<void>

const speak: InSession = (stage, host, id) =>
  within(
    stage,
    host,
    "ask",
    Effect.flatMap(openSession(stage, host, id), (agent) =>
      accepted(stage, id, agent.followup(AgentMessage.user("How does it stand?")))
    )
  )

/** Each session is seen to by the host that drives it, or by any. */
const everySession = <R>(stage: Stage<R>, time: Time, see: InSession): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const { id } of yield* headers(stage.store)) {
      const host = yield* driverOf(stage, id)
      if (host !== undefined) yield* beside(stage, `seeing to ${id}`, see(stage, host, id))
      yield* time.settle
    }
  })

const driverOf = <R>(stage: Stage<R>, id: SessionId): Effect.Effect<LiveHost<R> | undefined> =>
  // The store itself never fails: it is in memory, and behind no gate.
  Effect.map(Effect.orDie(stage.store.lease(id)), (lease) => {
    const hosts = [...stage.hosts.values()]
    const holder = Option.getOrUndefined(lease)?.pid
    return hosts.find(({ pid }) => pid === holder) ?? hosts[0]
  })

const headers = (store: Context.Tag.Service<SessionStore>): Effect.Effect<ReadonlyArray<StoredHeader>> =>
  // The store itself never fails: it is in memory, and behind no gate.
  Effect.orDie(store.list({ after: undefined, limit: 1000, cwd: undefined, parent: undefined }))

/** What the services say at the end. */
export const observe = <R>(
  stage: Stage<R>,
  time: Time
): Effect.Effect<ReadonlyMap<string, Readonly<Record<string, unknown>>>> =>
  Effect.gen(function* () {
    const seen = new Map<string, Readonly<Record<string, unknown>>>()
    const { observe } = stage.scenario
    if (observe === undefined) return seen
    const look: InSession = (_, host, id) =>
      // Every host of this run is of this scenario.
      within(
        stage,
        host as never,
        "observe",
        Effect.map(observe(id), (facts) => void seen.set(id, facts))
      )
    yield* everySession(stage, time, look)
    return seen
  })

/** Ends all hosts in order, and waits for the remains of those that have died. */
export const close = <R>(stage: Stage<R>, time: Time): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    for (const host of [...stage.hosts.values()])
      yield* beside(stage, `the end of host ${host.name}`, stop(stage, host))
    yield* time.advance("2 minutes")
    const underWay = [...stage.underWay.values()]
    const stuck = underWay.filter((what) => what !== burial)
    // Those of a host that has died may stay: nothing ends them.
    const timers = underWay.length > stuck.length ? 0 : yield* time.timers
    const left = yield* stage.world.leftovers ?? Effect.succeed([])
    for (const fiber of stage.underWay.keys()) fiber.unsafeInterruptAsFork(FiberId.none)
    return [
      ...stuck.map((what) => `${what} never came to its end`),
      ...[...stage.ended].flatMap(([host, fibers]) =>
        fibers.left() === 0 ? [] : [`${fibers.left()} fibers of ${host}`]
      ),
      ...(timers === 0 ? [] : [`${timers} timers`]),
      ...left
    ]
  })

export const evidence = <R>(
  stage: Stage<R>,
  observed: ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  leftovers: ReadonlyArray<string>
): Effect.Effect<Evidence> =>
  Effect.gen(function* () {
    const { acknowledged, announced, logged, messages } = stage.promised
    const all = yield* headers(stage.store)
    return {
      sessions: yield* Effect.forEach(all, (header) => rawSession(stage.store, header, observed.get(header.id) ?? {})),
      acknowledged: { events: acknowledged, messages },
      announced,
      logged,
      leftovers,
      now: yield* Instants.now
    }
  })

const rawSession = (
  store: Context.Tag.Service<SessionStore>,
  header: StoredHeader,
  observed: Readonly<Record<string, unknown>>
): Effect.Effect<RawSession> =>
  Effect.gen(function* () {
    const page = { fromSeq: 0, toSeq: Number.MAX_SAFE_INTEGER, types: undefined, limit: 1e9, maxBytes: 1e12 }
    const rows = yield* store.read(header.id, page)
    const lease = yield* store.lease(header.id)
    return {
      id: header.id,
      parent: header.parent,
      seedLength: header.seedLength,
      lease: Option.isSome(lease),
      observed,
      events: rows.map(({ data, seq, time, type }) => ({
        seq,
        type,
        time: new Date(time).toISOString(),
        data: JSON.parse(data)
      }))
    }
  }).pipe(
    // The store itself never fails: it is in memory, and behind no gate.
    Effect.orDie
  )
