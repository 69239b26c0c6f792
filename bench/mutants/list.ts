/** Bugs to plant: each takes a snippet of a real module out and puts another in. */

export interface Mutant {
  readonly name: string
  readonly file: string
  readonly snippet: string
  readonly instead: string
  /** Within how many seeds it has to be found. */
  readonly seeds: number
}

export const mutants: ReadonlyArray<Mutant> = [
  {
    name: "a reminder is delivered outside of the transaction that records it",
    file: "packages/schedule/src/ReminderDelivery.ts",
    snippet: `        events: changes.map((change) => ScheduleChange.make(change)),
        replaces,
        alarms,
        expectedSeq: given.asOfSeq
      })
      .pipe(`,
    instead: `        events: [],
        replaces,
        alarms,
        expectedSeq: given.asOfSeq
      })
      .pipe(
        Effect.zipLeft(
          delivery.log.append(delivery.agent.id, changes.map((change) => ScheduleChange.make(change)))
        ),`,
    seeds: 200
  },
  {
    name: "events are published before they are stored",
    file: "packages/agent/src/internal/live.ts",
    snippet: "  live.runtime.log.append(live.id, events, options).pipe(",
    instead: `  Effect.flatMap(Effect.orElseSucceed(live.runtime.log.lastSeq(live.id), () => -1), (last) =>
    Effect.zipRight(
      PubSub.publishAll(
        live.output,
        events.map((event, index) => ({ _tag: "Event" as const, event: { ...event, seq: last + 1 + index } as never }))
      ),
      live.runtime.log.append(live.id, events, options)
    )
  ).pipe(`,
    seeds: 20
  },
  {
    name: "what arrived during a turn wakes nobody",
    file: "packages/agent/src/internal/live.ts",
    snippet: "yield* becomeIdle(live, hasMessages(live.state))",
    instead: "yield* becomeIdle(live, false)",
    seeds: 100
  },
  {
    name: "a turn claims in one append and shows what it claimed in another",
    file: "packages/agent/src/internal/live.ts",
    snippet: `      const stored = yield* commit(live, [
        ...claimed.splices,
        AgentEvents.TurnStart`,
    instead: `      yield* commit(live, claimed.splices)
      const stored = yield* commit(live, [
        AgentEvents.TurnStart`,
    seeds: 200
  },
  {
    name: "what a failed turn took does not go back",
    file: "packages/agent/src/internal/closing.ts",
    snippet: '  const messages = unread.filter(({ source }) => source.kind !== "goal-round")',
    instead: "  const messages = unread.filter(() => false)",
    seeds: 200
  },
  {
    name: "a local time that clocks skip comes when they change",
    file: "packages/schedule/src/internal/calendar.ts",
    snippet: "      passed?.skipped(label, resolved.gap)\n",
    instead: "      if (skipped > 0) return resolved.gap.at\n",
    seeds: 200
  },
  {
    name: "one occurrence too few is counted as missed",
    file: "packages/schedule/src/Occurrences.ts",
    snippet: "missed: count })",
    instead: "missed: Math.max(0, count - 1) })",
    seeds: 100
  },
  {
    name: "a lease is not given up",
    file: "packages/session-log/src/internal/leases.ts",
    snippet: "Effect.catchAll(context.store.releaseLease(lease.sessionId, lease.epoch), (error) =>",
    instead: "Effect.catchAll(Effect.void as ReturnType<typeof context.store.releaseLease>, (error) =>",
    seeds: 20
  },
  {
    name: "jobs that a dead host left open stay open",
    file: "packages/jobs/src/internal/recover.ts",
    snippet: "    if (open.length === 0) return\n",
    instead: "    if (open.length >= 0) return\n",
    seeds: 100
  },
  {
    name: "a fork gives out ids that its history has used",
    file: "packages/jobs/src/JobLog.ts",
    snippet: `  history: "inherited",`,
    instead: `  history: "own",`,
    seeds: 200
  },
  {
    name: "the driver of an agent outlives it",
    file: "packages/agent/src/internal/host.ts",
    snippet: "yield* Effect.forkScoped(supervise(live, driver, lease))",
    instead: "yield* Effect.forkDaemon(supervise(live, driver, lease))",
    seeds: 20
  }
]
