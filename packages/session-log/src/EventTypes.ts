/**
 * Event types: each capability declares its own with a Schema and registers them; the log knows none by name.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { copy } from "./internal/json.js"
import { mark } from "./internal/made.js"
import { decoder, describe } from "./internal/parseError.js"
import type { EventInput, SessionEvent } from "./SessionEvent.js"

/**
 * Whether events of a type open or close a stretch that a fork should not cut (a turn). The log knows no type by name: this is
 * how it finds the default boundary of a fork. Stretches do not nest: a close ends whatever is open.
 *
 * @since 0.1.0
 * @category models
 */
export type Bracket = "open" | "close"

/**
 * A type of event: its name, the Schema of its data, and whether a reader that does not know it may skip it.
 *
 * @since 0.1.0
 * @category models
 */
export interface EventType<in out Type extends string, in out A, in out I = A> {
  readonly type: Type
  readonly schema: Schema.Schema<A, I>
  readonly ignorable: boolean
  readonly bracket: Bracket | undefined
  /** A stored event outside the Schema does not end a fold as corrupt: the projection sees it and decides what becomes of it. */
  readonly tolerant: boolean
  /**
   * An event of this type, its data encoded. Throws a `ParseError` on data outside the Schema: that is a defect. The event is
   * frozen, data included, and an append takes it without checking it again; a changed copy of it is checked like any other.
   */
  readonly make: (data: A, options?: { readonly sourceEventSeqs?: ReadonlyArray<number> }) => EventInput
  /** Decodes the data of a stored event of this type, strictly: an unknown key is an error. */
  readonly decode: (event: SessionEvent) => Either.Either<A, ParseResult.ParseError>
  /** Why encoded data is not of this type, or `undefined` when it is. */
  readonly problem: (data: unknown) => string | undefined
}

/**
 * Some event type, when only its name and checks matter.
 *
 * @since 0.1.0
 * @category models
 */
export type AnyEventType = Pick<
  EventType<string, never, never>,
  "type" | "ignorable" | "bracket" | "tolerant" | "problem"
>

/**
 * Declares an event type.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <const Type extends string, A, I>(
  type: Type,
  schema: Schema.Schema<A, I>,
  options?: { readonly ignorable?: boolean; readonly bracket?: Bracket; readonly tolerant?: boolean }
): EventType<Type, A, I> => {
  const strict = { onExcessProperty: "error" } as const
  const encode = Schema.encodeSync(schema, strict)
  const decode = decoder(schema)
  const ignorable = options?.ignorable ?? false
  const self: EventType<Type, A, I> = {
    type,
    schema,
    ignorable,
    bracket: options?.bracket,
    tolerant: options?.tolerant ?? false,
    make: (data, more) => {
      const encoded = encode(data)
      const copied = copy(encoded)
      const event: EventInput = {
        type,
        data: copied.ok ? copied.value : encoded,
        ...(ignorable ? { ignorable } : {}),
        ...(more?.sourceEventSeqs === undefined ? {} : { sourceEventSeqs: Object.freeze([...more.sourceEventSeqs]) })
      }
      // What is not JSON stays unmarked: the append refuses it and says where.
      if (copied.ok) mark(Object.freeze(event), self)
      return event
    },
    decode: (event) => decode(event.data),
    problem: (data) => {
      const decoded = decode(data)
      return Either.isRight(decoded) ? undefined : describe(decoded.left, "data")
    }
  }
  return self
}

/**
 * The event types that this composition knows.
 *
 * @since 0.1.0
 * @category tags
 */
export class EventTypes extends Context.Tag("@afterturn/session-log/EventTypes")<
  EventTypes,
  {
    /** Adds types. Registering the same type again is harmless; another type of the same name is a defect. */
    readonly register: (...types: ReadonlyArray<AnyEventType>) => Effect.Effect<void>
    /** The registered type of that name. */
    readonly get: (type: string) => AnyEventType | undefined
    /** The registered types that open or close a stretch. */
    readonly bracketed: () => ReadonlyArray<AnyEventType>
  }
>() {}

/**
 * An empty registry.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<EventTypes> = Layer.sync(EventTypes, () => {
  const known = new Map<string, AnyEventType>()
  return {
    register: (...types) =>
      Effect.sync(() => {
        for (const type of types) {
          const present = known.get(type.type)
          if (present !== undefined && present !== type) {
            throw new Error(`two event types are named "${type.type}"`)
          }
          known.set(type.type, type)
        }
      }),
    get: (type) => known.get(type),
    bracketed: () => Array.from(known.values()).filter((type) => type.bracket !== undefined)
  }
})

/**
 * Registers types when the layer is built.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerRegister = (...types: ReadonlyArray<AnyEventType>): Layer.Layer<never, never, EventTypes> =>
  Layer.effectDiscard(Effect.flatMap(EventTypes, (registry) => registry.register(...types)))
