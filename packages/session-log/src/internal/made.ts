import type { AnyEventType } from "../EventTypes.js"
import type { EventInput } from "../SessionEvent.js"

/**
 * Events that an `EventType` made, frozen through and through: their data was encoded by that type's Schema and is lossless
 * JSON, so an append need not check them again. A changed copy (`{ ...event }`) is another object and is checked.
 */
const made = new WeakMap<EventInput, AnyEventType>()

export const mark = (event: EventInput, type: AnyEventType): void => {
  made.set(event, type)
}

export const madeBy = (event: EventInput): AnyEventType | undefined => made.get(event)
