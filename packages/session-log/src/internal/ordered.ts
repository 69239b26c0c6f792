/** What orders sessions in a list: `createdAt`, then `id`. */
export interface Position {
  readonly createdAt: number
  readonly id: string
}

const isBefore = (a: Position, b: Position): boolean =>
  a.createdAt !== b.createdAt ? a.createdAt < b.createdAt : a.id < b.id

/** How many entries of an ascending array come before `position`. */
const rank = (entries: ReadonlyArray<Position>, position: Position): number => {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(entries[middle]!, position)) low = middle + 1
    else high = middle
  }
  return low
}

/** Adds to an ascending array; at the end, where new sessions go, at no cost. */
export const insert = (entries: Array<Position>, position: Position): void => {
  entries.splice(rank(entries, position), 0, { createdAt: position.createdAt, id: position.id })
}

export const remove = (entries: Array<Position>, position: Position): void => {
  const index = rank(entries, position)
  if (entries[index]?.id === position.id) entries.splice(index, 1)
}

/** Ids from the newest, strictly after `after` in that direction. */
export function* newestFirst(entries: ReadonlyArray<Position>, after: Position | undefined): Generator<string> {
  for (let index = (after === undefined ? entries.length : rank(entries, after)) - 1; index >= 0; index--) {
    yield entries[index]!.id
  }
}
