import * as Either from "effect/Either"
import type { EventTypes } from "../EventTypes.js"
import type { EventInput } from "../SessionEvent.js"
import { copy, formatPath } from "./json.js"
import { madeBy } from "./made.js"
import { isCounts } from "./rows.js"

/** An event that the log takes: of a registered type, its data frozen, lossless JSON of that type. */
export interface CheckedEvent {
  readonly type: string
  readonly data: unknown
  readonly sourceEventSeqs: ReadonlyArray<number> | undefined
  readonly ignorable: boolean
}

export interface Rejected {
  readonly type: string
  readonly reason: string
}

type Registry = (typeof EventTypes)["Service"]

/** All events of a batch, or why the first bad one is refused. */
export const checkAll = (
  registry: Registry,
  events: ReadonlyArray<EventInput>
): Either.Either<ReadonlyArray<CheckedEvent>, Rejected> => {
  const checked: Array<CheckedEvent> = []
  for (const event of events) {
    const result = check(registry, event)
    if (Either.isLeft(result)) return Either.left(result.left)
    checked.push(result.right)
  }
  return Either.right(checked)
}

const reject = (event: EventInput, reason: string) => Either.left({ type: String(event.type), reason })

const check = (registry: Registry, event: EventInput): Either.Either<CheckedEvent, Rejected> => {
  const type = registry.get(event.type)
  if (type === undefined) return reject(event, "expected a registered event type")
  if (event.sourceEventSeqs !== undefined && !isCounts(event.sourceEventSeqs)) {
    return reject(event, "expected sourceEventSeqs to be an array of seqs")
  }
  const ignorable = type.ignorable || event.ignorable === true
  if (madeBy(event) === type) {
    return Either.right({ type: event.type, data: event.data, sourceEventSeqs: event.sourceEventSeqs, ignorable })
  }
  const copied = copy(event.data)
  if (!copied.ok) return reject(event, `${copied.fault.reason} at data${formatPath(copied.fault.path)}`)
  const problem = type.problem(copied.value)
  if (problem !== undefined) return reject(event, problem)
  return Either.right({
    type: event.type,
    data: copied.value,
    sourceEventSeqs: event.sourceEventSeqs === undefined ? undefined : Object.freeze([...event.sourceEventSeqs]),
    ignorable
  })
}
