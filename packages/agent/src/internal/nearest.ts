/** Near misses: the name that was probably meant. */

/** Longer names are not compared: the distance costs the product of the lengths. */
const maxLength = 64

/** The closest of `names` to what was sent, the first of equals; `undefined` when none is close enough to suggest. */
export const nearest = (sent: string, names: ReadonlyArray<string>): string | undefined => {
  if (sent.length > maxLength) return undefined
  const target = plain(sent)
  if (target === "") return undefined
  let best: string | undefined
  let least = Infinity
  for (const name of names) {
    const candidate = plain(name)
    if (candidate.length > maxLength) continue
    const away = candidate === target ? 0 : distance(target, candidate)
    const allowed = Math.max(1, Math.floor(Math.min(target.length, candidate.length) / 3))
    if (away <= allowed && away < least && away < candidate.length) {
      best = name
      least = away
    }
  }
  return best ?? names.find((name) => isPrefix(target, plain(name)))
}

/** `timeoutMs`, `timeout-ms` and `TIMEOUT_MS` are spellings of one name. */
const plain = (name: string): string => name.toLowerCase().replace(/[\s_-]/g, "")

const isPrefix = (one: string, other: string): boolean =>
  Math.min(one.length, other.length) >= 4 && (one.startsWith(other) || other.startsWith(one))

/** Edit distance with insertions, deletions, substitutions and swaps of neighbours. */
const distance = (a: string, b: string): number => {
  let beforeLast: ReadonlyArray<number> = []
  let last: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let least = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) least = Math.min(least, at(beforeLast, j - 2) + 1)
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

const at = (row: ReadonlyArray<number>, index: number): number => row[index] ?? Infinity
