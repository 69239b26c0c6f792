/** The times of a day at which a calendar rule comes due, in milliseconds since its midnight. */
import { HOUR, MINUTE } from "./civil.js"

export interface Times {
  readonly size: number
  readonly first: number
  readonly last: number
  /** The first at or after a time of day; -1 when there is none. */
  readonly atOrAfter: (millis: number) => number
  /** The last at or before one; -1 when there is none. */
  readonly atOrBefore: (millis: number) => number
  /** How many lie before one. */
  readonly before: (millis: number) => number
}

export const once = (time: number): Times => ({
  size: 1,
  first: time,
  last: time,
  atOrAfter: (millis) => (millis <= time ? time : -1),
  atOrBefore: (millis) => (millis >= time ? time : -1),
  before: (millis) => (millis > time ? 1 : 0)
})

/** Every one of the minutes in every one of the hours; both ascending and not empty. */
export const grid = (hours: ReadonlyArray<number>, minutes: ReadonlyArray<number>): Times => {
  const hour = positions(hours, 24)
  const minute = positions(minutes, 60)
  const hourAt = (index: number) => (hours[index] ?? 0) * HOUR
  const minuteAt = (index: number) => (minutes[index] ?? 0) * MINUTE
  const size = hours.length * minutes.length
  const before = (millis: number): number => {
    // A time counts when its whole minute lies before.
    const limit = Math.ceil(millis / MINUTE)
    const at = Math.floor(limit / 60)
    const full = (hour[at] ?? hours.length) * minutes.length
    return hours[hour[at] ?? hours.length] === at ? full + (minute[limit - at * 60] ?? 0) : full
  }
  const nth = (index: number): number => hourAt(Math.floor(index / minutes.length)) + minuteAt(index % minutes.length)
  return {
    size,
    first: nth(0),
    last: nth(size - 1),
    atOrAfter: (millis) => {
      const index = before(millis)
      return index < size ? nth(index) : -1
    },
    atOrBefore: (millis) => {
      const index = before(millis + 1) - 1
      return index < 0 ? -1 : nth(index)
    },
    before
  }
}

/** For each value, how many of the sorted ones lie before it. */
const positions = (sorted: ReadonlyArray<number>, until: number): Uint8Array => {
  const counts = new Uint8Array(until)
  let index = 0
  for (let value = 0; value < until; value++) {
    counts[value] = index
    if (sorted[index] === value) index++
  }
  return counts
}
