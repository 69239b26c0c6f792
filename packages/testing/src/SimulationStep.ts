/**
 * The steps of a simulation: plain data, so that a run can be stored, shortened and played again. Each stands for itself: one whose host
 * is down, or whose session nobody has begun, does nothing.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const Count = Schema.Int.pipe(Schema.nonNegative())
const Name = Schema.String.pipe(Schema.pattern(/^[a-z][a-z0-9-]{0,31}$/))
const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * One answer of the simulated model: text, calls of tools, or both. Strings of an input may hold `{{1}}`, `{{2}}` …: what the groups of
 * the answering rule matched.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reply = Schema.Struct({
  text: optional(Schema.String),
  calls: optional(Schema.Array(Schema.Struct({ tool: Schema.String, input: Schema.Unknown })))
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Reply = typeof Reply.Type

/**
 * What a store may do wrong. Nothing of a failed operation is stored; `torn` is a write of which the store had begun a part, and took it
 * back.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StoreFault = Schema.Literal("busy", "full", "read-only", "unavailable", "torn")

/**
 * @since 0.1.0
 * @category schemas
 */
export type StoreFault = typeof StoreFault.Type

const step = <const Do extends string, Fields extends Schema.Struct.Fields>(name: Do, fields: Fields) =>
  Schema.Struct({ do: Schema.Literal(name), ...fields })

const host = { host: Name }
const place = { host: Name, session: Name }

/**
 * - `boot`, `stop`: a host starts; ends in order
 * - `crash`: a host dies at a boundary of the store, once it has made `writes` more writes: `before` the next one, or `after` it, when it
 *   was stored and nobody has heard
 * - `fault`, `slow`: the next `operations` of a host on the store fail, or take their time; of a fault, reads too if `reads`
 * - `provider`: the next requests of a host's model fail, with an HTTP status, or 0 for a broken connection
 * - `wait`: time passes; `clock`: the wall clock is set forward or back
 * - `open`, `release`: a host begins or resumes a session; lets go of it in order
 * - `fork`: a session goes on as another one too
 * - `say`: a person speaks, and the model answers what `replies` say; `steer`: into the running turn
 * - `cancel`: a person ends the turn
 * - `act`: an action of the scenario
 *
 * @since 0.1.0
 * @category schemas
 */
export const SimulationStep = Schema.Union(
  step("boot", host),
  step("stop", host),
  step("crash", { ...host, writes: Count, when: Schema.Literal("before", "after") }),
  step("fault", { ...host, fault: StoreFault, operations: Count, reads: Schema.Boolean }),
  step("slow", { ...host, operations: Count, millis: Count }),
  step("provider", { ...host, requests: Count, status: Count }),
  step("wait", { seconds: Count }),
  step("clock", { seconds: Schema.Int }),
  step("open", place),
  step("release", place),
  step("fork", { ...place, as: Name }),
  step("say", { ...place, replies: Schema.Array(Reply), steer: optional(Schema.Boolean) }),
  step("cancel", place),
  step("act", { ...place, action: Schema.String, input: Schema.Unknown })
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type SimulationStep = typeof SimulationStep.Type

/**
 * Steps as they stand in a file: a JSON array.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StepsFile = Schema.parseJson(Schema.Array(SimulationStep))

/**
 * Steps as text, one a line, that `StepsFile` reads.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = (steps: ReadonlyArray<SimulationStep>): string =>
  steps.length === 0 ? "[]" : `[\n  ${steps.map((step) => JSON.stringify(step)).join(",\n  ")}\n]`
