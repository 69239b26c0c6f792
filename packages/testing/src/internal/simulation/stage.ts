/** All that hosts share in a run, and how hosts come and go on it. */
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { Dice } from "../../Dice.js"
import type { Scenario, SimulatedHost, World } from "../../SimulationScenario.js"
import type { Reply } from "../../SimulationStep.js"
import { Coverage } from "./coverage.js"
import type { CountedFibers } from "./fibers.js"
import { countedFibers } from "./fibers.js"
import { makeGate } from "./gate.js"
import type { LiveHost } from "./host.js"
import { hostLayer } from "./host.js"
import { recorder } from "./logged.js"
import type { Promised } from "./recorded.js"
import { nothingPromised } from "./recorded.js"

export interface Stage<R> {
  readonly scenario: Scenario<R>
  readonly world: World<R>
  readonly dice: Dice
  readonly store: Context.Tag.Service<SessionStore>
  readonly coverage: Coverage
  readonly promised: Promised
  readonly hosts: Map<string, LiveHost<R>>
  /** Hosts of which the boot is under way. */
  readonly booting: Set<string>
  /** The pids of hosts that have not ended. */
  readonly alive: Set<number>
  /** Whether hosts can tell that another one is dead. */
  readonly sharesMachine: boolean
  /** What goes on beside the steps: boots, what drivers do, ends of hosts. Whoever never ends must not be waited for. */
  readonly scope: Scope.Scope
  readonly underWay: Map<Fiber.RuntimeFiber<unknown>, string>
  readonly answer: (text: string) => ReadonlyArray<Reply>
  readonly refused: (what: string, cause: Cause.Cause<unknown>) => void
  /** The fibers of hosts that have ended in order, by host. */
  readonly ended: Map<string, CountedFibers>
  pids: number
  /** Near the end nobody begins anything new. */
  isTired: boolean
}

export const makeStage = <R>(
  scenario: Scenario<R>,
  world: World<R>,
  dice: Dice,
  store: Context.Tag.Service<SessionStore>,
  scope: Scope.Scope
): Stage<R> => {
  const coverage = new Coverage()
  const promised = nothingPromised()
  const stage: Stage<R> = {
    scenario,
    world,
    dice,
    store,
    coverage,
    promised,
    hosts: new Map(),
    booting: new Set(),
    alive: new Set(),
    sharesMachine: dice.derive("machine").chance(0.5),
    scope,
    underWay: new Map(),
    ended: new Map(),
    pids: 0,
    isTired: false,
    answer: (text) => {
      const replies = stage.isTired ? undefined : scenario.answer?.(text, dice.derive(text))
      return replies ?? [{ text: "I see." }]
    },
    refused: (what, cause) => {
      if (Cause.isInterruptedOnly(cause)) return coverage.count("driver", `${what} interrupted`)
      const failure = Option.getOrUndefined(Cause.failureOption(cause))
      const tag = (failure as { readonly _tag?: unknown } | undefined)?._tag
      if (typeof tag === "string") coverage.count("driver", `${what} ${tag}`)
      else promised.logged.push(`${what}: ${Cause.pretty(cause)}`)
    }
  }
  return stage
}

/** Starts something that the steps do not wait for. */
export const beside = <R>(stage: Stage<R>, what: string, effect: Effect.Effect<unknown>): Effect.Effect<void> =>
  Effect.map(Effect.forkIn(effect, stage.scope), (fiber) => {
    stage.underWay.set(fiber, what)
    fiber.addObserver(() => stage.underWay.delete(fiber))
  })

export const boot = <R>(stage: Stage<R>, name: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (stage.hosts.has(name) || stage.booting.has(name)) return
    stage.booting.add(name)
    const pid = ++stage.pids
    stage.alive.add(pid)
    const gate = makeGate(stage.dice.derive(`gate ${pid}`), stage.coverage)
    const provider = { left: 0, status: 0 }
    const scope = yield* Scope.make()
    const simulated: SimulatedHost = {
      name,
      pid,
      isAlive: () => !gate.isDead,
      dice: stage.dice.derive(`host ${pid}`),
      count: (kind, what) => stage.coverage.count(kind, what)
    }
    const fibers = countedFibers()
    const heard = recorder(stage.promised.logged, gate)
    const layer = hostLayer(stage, simulated, gate, provider)
    const built = yield* Effect.exit(fibers.counted(Layer.buildWithScope(layer, scope)).pipe(Effect.provide(heard)))
    stage.booting.delete(name)
    if (Exit.isFailure(built)) {
      stage.refused("boot", built.cause)
      gate.isDead = true
      return yield* end(stage, { pid, scope, heard })
    }
    const host: LiveHost<R> = {
      name,
      pid,
      gate,
      provider,
      scope,
      fibers,
      heard,
      context: built.value,
      sessions: new Map()
    }
    stage.hosts.set(name, host)
    stage.coverage.count("driver", "boot done")
    yield* beside(stage, burial, Effect.zipRight(Deferred.await(gate.died), buried(stage, host)))
  })

/** Of a host that has died nothing is asked any more, not even that its remains come to an end. */
export const burial = "a burial"

/** A host has died: what is left of its fibers ends, without any effect. */
const buried = <R>(stage: Stage<R>, host: LiveHost<R>): Effect.Effect<void> =>
  Effect.suspend(() => {
    stage.alive.delete(host.pid)
    if (stage.hosts.get(host.name) === host) stage.hosts.delete(host.name)
    return end(stage, host)
  })

const end = <R>(
  stage: Stage<R>,
  { heard, pid, scope }: Pick<LiveHost<R>, "pid" | "scope" | "heard">
): Effect.Effect<void> =>
  Effect.flatMap(Effect.exit(Effect.provide(Scope.close(scope, Exit.void), heard)), (exit) =>
    Effect.sync(() => {
      stage.alive.delete(pid)
      if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) stage.refused("end", exit.cause)
    })
  )

/** A host ends in order, and is gone once its scope has closed. */
export const stop = <R>(stage: Stage<R>, host: LiveHost<R>): Effect.Effect<void> =>
  Effect.suspend(() => {
    stage.hosts.delete(host.name)
    return Effect.flatMap(end(stage, host), () =>
      Effect.asVoid(
        Effect.suspend(() => {
          host.gate.isDead = true
          stage.ended.set(`${host.name} (${host.pid})`, host.fibers)
          return Deferred.succeed(host.gate.died, undefined)
        })
      )
    )
  })
