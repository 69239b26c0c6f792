/** Numbers as ranges of neighbours, both ends included: what was used up one after the other takes little room. */
export const toRanges = (numbers: Iterable<number>): ReadonlyArray<readonly [number, number]> => {
  const ranges: Array<[number, number]> = []
  for (const number of Array.from(numbers).sort((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges
}

export function* fromRanges(ranges: Iterable<readonly [number, number]>): Generator<number> {
  for (const [from, to] of ranges) for (let number = from; number <= to; number++) yield number
}
