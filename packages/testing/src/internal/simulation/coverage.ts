/** What a run has met, counted by kind. */
export class Coverage {
  readonly counts: Record<string, Record<string, number>> = {}

  count(kind: string, what: string, times = 1): void {
    const counts = this.counts[kind] ?? {}
    counts[what] = (counts[what] ?? 0) + times
    this.counts[kind] = counts
  }
}
