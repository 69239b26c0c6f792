/**
 * Offsets of a time zone, as the runtime knows them. Asking it costs about a microsecond and a comparison of text, so what it said
 * is kept as segments of equal offset, made for 48 days at a time and found again by division.
 */
import { DAY, HOUR } from "./civil.js"

/** A stretch of time in which a zone's offset does not change: `from` is in it, `until` is not. All in milliseconds. */
export interface Segment {
  readonly from: number
  readonly until: number
  readonly offset: number
  /** The offset right before `from`; the same as `offset` where nothing changed there. */
  readonly before: number
}

/** A local time in a zone: when it is first and, where clocks went back over it, when again; or the gap that skips it. */
export type Resolved =
  | { readonly kind: "known"; readonly at: number; readonly again: number | undefined }
  | { readonly kind: "skipped"; readonly gap: Gap }

/** Local times that do not exist: from `start` on, up to `end` without it. */
export interface Gap {
  readonly start: number
  readonly end: number
  /** The instant at which clocks go from `start` to `end`. */
  readonly at: number
}

/** No two changes of a zone's offset that cancel out lie closer together: the closest known are 3.98 days apart (1939). */
const probe = 3 * DAY
const chunk = 16 * probe
const maxChunks = 512
/** Clocks never went back further than 24 hours. */
const furthestBack = 25 * HOUR
/** Offsets lie between -15:56 and +15:13. */
const largestOffset = 16 * HOUR

export class Zone {
  readonly name: string
  private readonly format: Intl.DateTimeFormat
  private readonly chunks = new Map<number, ReadonlyArray<Segment>>()
  private recent: Segment = { from: 0, until: 0, offset: 0, before: 0 }

  constructor(name: string) {
    this.name = name
    this.format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset", hour: "numeric" })
  }

  segmentAt(millis: number): Segment {
    const recent = this.recent
    if (millis >= recent.from && millis < recent.until) return recent
    const segments = this.segmentsOf(Math.floor(millis / chunk))
    let found = segments[0] as Segment
    for (const segment of segments) if (segment.from <= millis) found = segment
    this.recent = found
    return found
  }

  offsetAt(millis: number): number {
    return this.segmentAt(millis).offset
  }

  /**
   * The first label that no clock of the zone has shown up to an instant, that instant not included. It is later than the label of
   * the instant when clocks went back shortly before.
   */
  unseen(millis: number): number {
    let segment = this.segmentAt(millis)
    let label = millis + segment.offset
    while (segment.from > millis - furthestBack) {
      label = Math.max(label, segment.from + segment.before)
      segment = this.segmentAt(segment.from - 1)
    }
    return label
  }

  /** When a label is. */
  resolve(label: number): Resolved {
    const last = label + largestOffset
    let at: number | undefined
    let segment = this.segmentAt(label - largestOffset)
    let gap: Gap | undefined
    for (;;) {
      const candidate = label - segment.offset
      if (segment.from + segment.before <= label && label < segment.from + segment.offset) {
        gap = { start: segment.from + segment.before, end: segment.from + segment.offset, at: segment.from }
      }
      if (candidate >= segment.from && candidate < segment.until) {
        if (at !== undefined) return { kind: "known", at, again: candidate }
        at = candidate
      }
      if (segment.until > last) break
      segment = this.segmentAt(segment.until)
    }
    if (at !== undefined) return { kind: "known", at, again: undefined }
    // A label that no instant has lies in a gap by necessity.
    return { kind: "skipped", gap: gap ?? { start: label, end: label + 1, at: label } }
  }

  private segmentsOf(index: number): ReadonlyArray<Segment> {
    const known = this.chunks.get(index)
    if (known !== undefined) return known
    if (this.chunks.size >= maxChunks) this.chunks.clear()
    const made = this.makeSegments(index * chunk, (index + 1) * chunk)
    this.chunks.set(index, made)
    return made
  }

  private makeSegments(start: number, end: number): ReadonlyArray<Segment> {
    const segments: Array<Segment> = []
    let from = start
    let before = this.ask(start - 1)
    let offset = before
    for (let low = start - 1; low < end - 1; ) {
      const high = low + probe
      const next = this.ask(high)
      while (offset !== next) {
        // Several changes may lie between two probes: each search finds the first instant that differs from what was before.
        const change = this.firstOther(low, high, offset)
        if (change > from) segments.push({ from, until: change, offset, before })
        from = change
        before = offset
        offset = this.ask(change)
        low = change
      }
      low = high
    }
    segments.push({ from, until: end, offset, before })
    return segments
  }

  /** The first instant after `low` whose offset is another, given that the one of `high` is. */
  private firstOther(low: number, high: number, offset: number): number {
    let same = low
    let other = high
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2)
      if (this.ask(middle) === offset) same = middle
      else other = middle
    }
    return other
  }

  /** Reads `7 PM GMT-05:00`, `12 AM GMT-00:44:30`, `12 AM GMT`. */
  private ask(millis: number): number {
    const text = this.format.format(millis)
    const at = text.indexOf("GMT") + 3
    const sign = text.charCodeAt(at)
    if (sign !== plus && sign !== minus) return 0
    const hours = digits(text, at + 1)
    const minutes = digits(text, at + 4)
    const seconds = text.length > at + 7 ? digits(text, at + 7) : 0
    const offset = (hours * 3600 + minutes * 60 + seconds) * 1000
    return sign === minus ? -offset : offset
  }
}

const plus = 43
const minus = 45
const zero = 48

const digits = (text: string, at: number): number => (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero

const maxZones = 128
const zones = new Map<string, Zone>()

/** The zone of a name, or `undefined` when the runtime does not know it. What was asked last stays ready. */
export const zoneOf = (name: string): Zone | undefined => {
  const known = zones.get(name)
  if (known !== undefined) return known
  const zone = make(name)
  if (zone === undefined) return undefined
  if (zones.size >= maxZones) {
    for (const oldest of zones.keys()) {
      zones.delete(oldest)
      break
    }
  }
  zones.set(name, zone)
  return zone
}

const make = (name: string): Zone | undefined => {
  try {
    return new Zone(name)
  } catch {
    // A RangeError is how Intl says that it has no such zone.
    return undefined
  }
}
