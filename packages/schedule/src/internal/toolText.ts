interface Shown {
  readonly id: string
  readonly title: string
  readonly words: string
  readonly state: string
  readonly scheduledAt: string
  readonly localTime?: string
  readonly delivery: string
  readonly upcoming: ReadonlyArray<{ readonly at: string; readonly local: string; readonly note?: string }>
  readonly waitsFor?: string
  readonly problem?: string
}

/** A reminder that was just made or changed, as a model reads it. */
export const reminderText = (what: string, reminder: Shown & { readonly note?: string }): string =>
  [
    `${what} ${reminder.id} "${reminder.title}": ${reminder.words}.`,
    `Next: ${upcoming(reminder)}.`,
    ...(reminder.note === undefined ? [] : [`Note: ${reminder.note}.`]),
    ...(reminder.delivery === "session-local" ? ["It comes while this session is live, else when it is resumed."] : [])
  ].join("\n")

const upcoming = (reminder: Shown): string =>
  reminder.upcoming.length === 0
    ? (reminder.problem ?? "none")
    : reminder.upcoming
        .map(
          ({ at, local, note }) =>
            `${at}${local.endsWith("+00:00") ? "" : ` (${local})`}${note === undefined ? "" : ` [${note}]`}`
        )
        .join(", ")

/** The reminders of a session, as a model reads them. */
export const listText = (list: {
  readonly reminders: ReadonlyArray<Shown & { readonly prompt: string }>
  readonly note?: string
  readonly faults: ReadonlyArray<{ readonly seq: number; readonly reason: string }>
}): string =>
  [
    ...(list.reminders.length === 0 ? ["No active reminders."] : list.reminders.map(line)),
    ...(list.note === undefined ? [] : [`(${list.note})`]),
    ...list.faults.map(
      ({ reason, seq }) => `The event at ${seq} could not be read, what it concerns is left out: ${reason}`
    )
  ].join("\n")

const line = (reminder: Shown & { readonly prompt: string }): string => {
  const local = reminder.localTime === undefined ? "" : ` (${reminder.localTime})`
  const why = reminder.waitsFor === undefined ? "" : `: ${reminder.waitsFor}`
  return `${reminder.id} [${reminder.state}${why}] "${reminder.title}": ${reminder.words}; ${reminder.scheduledAt}${local}, delivery ${reminder.delivery}. Prompt: ${JSON.stringify(reminder.prompt)}`
}
