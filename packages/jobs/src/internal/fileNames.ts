import type { SessionId } from "@afterturn/session-log/SessionEvent"

/**
 * A folder name for a session: injective, also where the file system ignores case, and without characters that mean something to a
 * path or a shell. Lower-case letters, digits, `-` and `.` stay; anything else is `_` and two hex digits. An id that becomes too long
 * for a name that way is written in base 32.
 */
export const sessionFolder = (session: SessionId): string => {
  const escaped = session.replace(
    /[^a-z0-9.-]/g,
    (character) => `_${character.charCodeAt(0).toString(16).padStart(2, "0")}`
  )
  return escaped.length <= 200 ? `s-${escaped}` : `b-${base32(session)}`
}

const digits = "0123456789abcdefghijklmnopqrstuv"

const base32 = (ascii: string): string => {
  let text = ""
  let bits = 0
  let held = 0
  for (let index = 0; index < ascii.length; index++) {
    held = (held << 8) | ascii.charCodeAt(index)
    bits += 8
    for (; bits >= 5; bits -= 5) text += digits[(held >> (bits - 5)) & 31]
    held &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + digits[(held << (5 - bits)) & 31]
}

/** Whether a name is one of a folder that holds jobs: a session's, or the one of a process for jobs that nobody owns. */
export const isJobsFolder = (name: string): boolean => /^(s-[a-z0-9._-]+|b-[0-9a-v]+|host-[0-9a-f]+)$/.test(name)

export const isJobFolder = (name: string): boolean => /^(host-)?[a-z][a-z0-9_]*-\d+$/.test(name)

/**
 * A stretch of output in a file of its own. `length`: how many bytes of the file count.
 */
export interface Segment {
  readonly offset: number
  length: number
  readonly final: boolean
}

/** Names sort by offset, so that `cat *` gives the output. */
export const segmentName = ({ final, offset }: Pick<Segment, "offset" | "final">): string =>
  `${offset.toString().padStart(16, "0")}${final ? ".final" : ""}.out`

export const parseSegmentName = (name: string): Pick<Segment, "offset" | "final"> | undefined => {
  const [, offset, final] = /^(\d{16})(\.final)?\.out$/.exec(name) ?? []
  return offset === undefined || !Number.isSafeInteger(Number(offset))
    ? undefined
    : { offset: Number(offset), final: final !== undefined }
}
