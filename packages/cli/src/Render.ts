/**
 * Sessions as text for people. Whatever a session holds, nothing here moves the cursor or takes more than a line an item.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { toText } from "@afterturn/agent/AgentMessage"
import type { Wake } from "@afterturn/agent/Wakes"
import type { Goal } from "@afterturn/goals/Goal"
import * as GoalText from "@afterturn/goals/GoalText"
import type { JobSnapshot } from "@afterturn/jobs/Job"
import { labelLine } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { statusLine } from "@afterturn/jobs/JobNotice"
import type { ReminderHistory } from "@afterturn/schedule/ReminderHistory"
import type { ReminderView } from "@afterturn/schedule/Schedule"
import type * as EventTypes from "@afterturn/session-log/EventTypes"
import type { SessionEvent, SessionSummary } from "@afterturn/session-log/SessionEvent"
import { SubagentRun } from "@afterturn/subagent/SubagentEvents"
import type { AgentNode } from "@afterturn/subagent/SubagentTree"
import { flatten } from "@afterturn/subagent/SubagentTree"
import { counts, countsText, toChecklist } from "@afterturn/todo/TodoList"
import type { TodoVersion } from "@afterturn/todo/TodoLog"
import { TodoWrite } from "@afterturn/todo/TodoLog"
import * as Either from "effect/Either"
import * as Row from "./chat/Row.js"
import * as SafeText from "./chat/SafeText.js"
import * as TextLayout from "./chat/TextLayout.js"
import type { Verified } from "./Verify.js"

/**
 * What the text is shown on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Surface {
  /** `Infinity`: nothing is cut. */
  readonly columns: number
  readonly colour: boolean
}

const gap = 2

/**
 * Rows of cells under a head. Columns are as wide as what is in them; where the surface has no room for that, the last ones are
 * cut, the very last most.
 *
 * @since 0.1.0
 * @category rendering
 */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  surface: Surface
): string => {
  const cells = [head, ...rows].map((row) => row.map((cell) => SafeText.cleanLine(cell)))
  const natural = head.map((_, column) => Math.max(...cells.map((row) => TextLayout.width(row[column] ?? ""))))
  const widths = fit(natural, surface.columns)
  return cells
    .map((row, index) => {
      const shown = row.map((cell, column) => {
        const width = widths[column] ?? 0
        const text = TextLayout.truncate(cell, width)
        return text + " ".repeat(width - TextLayout.width(text))
      })
      const style = index === 0 ? "dim" : "plain"
      return Row.encode([Row.span(shown.join(" ".repeat(gap)), style)], { color: surface.colour })
    })
    .join("\n")
}

/** A column that is cut keeps at least this, where it has as much. */
const minColumn = 8

/** Takes what is too much from the last column first. */
const fit = (natural: ReadonlyArray<number>, columns: number): ReadonlyArray<number> => {
  let excess = natural.reduce((sum, width) => sum + width + gap, -gap) - columns
  const widths = [...natural]
  for (let column = widths.length - 1; column >= 0 && excess > 0; column--) {
    const cut = Math.min(excess, Math.max((widths[column] ?? 0) - minColumn, 0))
    widths[column] = (widths[column] ?? 0) - cut
    excess -= cut
  }
  return widths
}

/** To the second: what a person compares. */
const moment = (instant: string): string => `${instant.slice(0, 10)} ${instant.slice(11, 19)}Z`

const eventCount = (summary: SessionSummary): string => String(summary.lastSeq + 1)

/**
 * A goal: its objective, where it stands, what it can do.
 *
 * @since 0.1.0
 * @category rendering
 */
export const goal = (shown: Goal): string => GoalText.lines(shown).map(SafeText.clean).join("\n")

/**
 * What can wake a session, as a table.
 *
 * @since 0.1.0
 * @category rendering
 */
export const wakes = (list: ReadonlyArray<Wake>, surface: Surface): string =>
  list.length === 0
    ? "nothing wakes this session"
    : table(
        ["KIND", "ID", "AT", "WHAT"],
        list.map(({ at, id, kind, summary }) => [kind, id ?? "", at === undefined ? "" : moment(at), summary]),
        surface
      )

/**
 * A list of sessions as a table.
 *
 * @since 0.1.0
 * @category rendering
 */
export const sessions = (list: ReadonlyArray<SessionSummary>, surface: Surface): string =>
  list.length === 0
    ? "no sessions"
    : table(
        ["ID", "CREATED", "EVENTS", "TITLE", "FOLDER"],
        list.map((summary) => [
          summary.id,
          moment(summary.createdAt),
          eventCount(summary),
          summary.title ?? "",
          summary.cwd ?? ""
        ]),
        surface
      )

/**
 * Jobs as a table.
 *
 * @since 0.1.0
 * @category rendering
 */
export const jobs = (list: ReadonlyArray<JobSnapshot>, surface: Surface): string =>
  list.length === 0
    ? "no jobs"
    : table(
        ["ID", "STATUS", "STARTED", "BYTES", "DETAIL", "LABEL"],
        list.map((job) => [
          job.id,
          job.status,
          moment(job.startedAt),
          String(job.outputBytes),
          job.detail ?? "",
          labelLine(job.label)
        ]),
        surface
      )

/**
 * Reminders, a line each.
 *
 * @since 0.1.0
 * @category rendering
 */
export const reminders = (list: ReadonlyArray<ReminderView>, surface: Surface): string =>
  list.length === 0
    ? "no reminders"
    : table(
        ["ID", "STATE", "NEXT", "LOCAL", "RULE", "TITLE"],
        list.map((each) => [
          each.id,
          each.state,
          moment(each.scheduledAt),
          each.localTime ?? "",
          labelLine(each.words),
          labelLine(each.title)
        ]),
        surface
      )

/**
 * A reminder that was just made or changed.
 *
 * @since 0.1.0
 * @category rendering
 */
export const reminder = (each: {
  readonly id: string
  readonly title: string
  readonly words: string
  readonly state: string
  readonly upcoming: ReadonlyArray<{ readonly at: string; readonly local: string; readonly note?: string }>
}): string =>
  [
    `${each.id} "${labelLine(each.title)}" ${each.state}: ${labelLine(each.words)}`,
    ...each.upcoming.map(({ at, local, note }) => `  ${at}  ${local}${note === undefined ? "" : `  ${note}`}`)
  ].join("\n")

/**
 * What was done to a reminder, and what became of its occurrences.
 *
 * @since 0.1.0
 * @category rendering
 */
export const reminderHistory = ({ changes, now, occurrences }: ReminderHistory, surface: Surface): string =>
  [
    table(
      ["TIME", "CHANGE", "NEXT", "TITLE"],
      changes.map(({ operation, record, time }) => [
        moment(time),
        operation,
        record === undefined ? "" : moment(record.scheduledAt),
        record === undefined ? "" : labelLine(record.title)
      ]),
      surface
    ),
    ...(occurrences.length === 0
      ? []
      : [
          "",
          table(
            ["DUE", "DECIDED", "LATE BY", "MISSED", "TURNS", "OUTCOME"],
            occurrences.map((each) => [
              each.occurrenceAt,
              each.decidedAt,
              each.byHand ? "by hand" : `${each.lateBySeconds} s`,
              String(each.missed),
              each.turns.join(", "),
              each.outcome
            ]),
            surface
          )
        ]),
    "",
    now === undefined
      ? "it is over"
      : `${now.state}, next ${now.scheduledAt}${now.waitsFor === undefined ? "" : `: ${now.waitsFor}`}`
  ].join("\n")

/**
 * The subagents of a session; in a tree each stands, indented, under the one that started it.
 *
 * @since 0.1.0
 * @category rendering
 */
export const agents = (nodes: ReadonlyArray<AgentNode>, tree: boolean, surface: Surface): string => {
  const shown = tree ? flatten(nodes) : nodes
  if (shown.length === 0) return "no subagents"
  return table(
    ["ID", "STATUS", "JOB", "ENDED", "TURNS", "TOKENS", "LABEL"],
    shown.map((agent) => [
      `${tree ? "  ".repeat(agent.depth - 1) : ""}${agent.id}`,
      agent.status,
      agent.job.id,
      agent.status === "running" ? "" : `${agent.job.status}${agent.interrupted ? ", interrupted" : ""}`,
      String(agent.turns),
      String(agent.totalTokens.inputTokens + agent.totalTokens.outputTokens),
      labelLine(agent.label)
    ]),
    surface
  )
}

/**
 * A header as lines of `name  value`.
 *
 * @since 0.1.0
 * @category rendering
 */
export const header = (summary: SessionSummary, surface: Surface): string =>
  (
    [
      ["session", summary.id],
      ["title", summary.title],
      ["created", moment(summary.createdAt)],
      ["folder", summary.cwd],
      [
        "parent",
        summary.parent === undefined || summary.seedLength === undefined
          ? summary.parent
          : `${summary.parent} (its first ${summary.seedLength} events)`
      ],
      ["delegation", summary.delegationDepth === 0 ? undefined : `depth ${summary.delegationDepth}`],
      ["events", eventCount(summary)]
    ] as const
  )
    .flatMap(([name, value]) =>
      value === undefined ? [] : [line([Row.span(name.padEnd(12), "dim"), Row.span(value)], surface)]
    )
    .join("\n")

/**
 * An event as one line: seq, time, type, and what it says.
 *
 * @since 0.1.0
 * @category rendering
 */
export const event = (given: SessionEvent, surface: Surface): string => {
  const { style, text } = describe(given)
  return line(
    [
      Row.span(`${String(given.seq).padStart(5)}  ${given.time.slice(11, 23)}  `, "dim"),
      Row.span(given.type.padEnd(20), style),
      Row.span(` ${text}`)
    ],
    surface
  )
}

/** One line, cut where the surface ends. */
const line = (row: Row.Row, { colour, columns }: Surface): string => {
  let left = columns
  const spans: Array<Row.Span> = []
  for (const { style, text } of row) {
    const shown = TextLayout.truncate(SafeText.cleanLine(text.replaceAll(/\s*\n\s*/g, " ⏎ ")), left)
    left -= TextLayout.width(shown)
    spans.push(Row.span(shown, style))
    if (left <= 0) break
  }
  return Row.encode(spans, { color: colour })
}

interface Description {
  readonly style: Row.Style
  readonly text: string
}

const describe = (given: SessionEvent): Description =>
  describers.get(given.type)?.(given) ?? { style: "plain", text: JSON.stringify(given.data) }

/** How the events of a type read. Data that is not of the type reads as JSON: to look at a damaged session is no failure. */
const describer = <Type extends string, A, I>(
  type: EventTypes.EventType<Type, A, I>,
  style: Row.Style,
  text: (data: A) => string
) =>
  [
    type.type,
    (given: SessionEvent): Description | undefined =>
      Either.match(type.decode(given), { onLeft: () => undefined, onRight: (data) => ({ style, text: text(data) }) })
  ] as const

const describers = new Map<string, (given: SessionEvent) => Description | undefined>([
  describer(AgentEvents.TurnStart, "accent", ({ source, turn }) => `turn ${turn}, opened by ${source.kind}`),
  describer(AgentEvents.TurnEnd, "accent", ({ reason, turn }) => `turn ${turn} ${reasonText(reason)}`),
  describer(AgentEvents.StepStart, "dim", ({ step }) => `step ${step}`),
  describer(AgentEvents.StepEnd, "dim", ({ step }) => `step ${step}`),
  describer(AgentEvents.UserMessage, "strong", ({ content, source }) => `${source.kind}: ${toText(content)}`),
  describer(AgentEvents.AssistantMessage, "strong", ({ content }) => content.map(blockText).join(" ")),
  describer(AgentEvents.ToolCall, "plain", ({ input, name }) => callText(name, input)),
  describer(AgentEvents.ToolResult, "plain", ({ name, ok, text }) => `${name} ${ok ? "→" : "failed:"} ${text}`),
  describer(
    AgentEvents.InboxSpliced,
    "dim",
    ({ ids, list, messages, op }) =>
      `${op} ${(ids ?? messages?.map((message) => message.id) ?? []).join(", ")} (${list})`
  ),
  describer(AgentEvents.ContextCompacted, "plain", ({ summary, throughSeq }) => `through ${throughSeq}: ${summary}`),
  describer(JobEvents.JobStart, "plain", ({ id, label }) => `${id} starts: ${label}`),
  describer(
    JobEvents.JobKillRequested,
    "plain",
    ({ by, id, reason }) => `${by} ends ${id}${reason === undefined ? "" : `: ${reason}`}`
  ),
  describer(JobEvents.JobSettle, "plain", ({ detail, id, status }) => `${id} ${statusLine(status, detail)}`),
  describer(
    JobEvents.JobWakesMuted,
    "plain",
    ({ budget, pending }) => `${budget} turns in a row were opened by notices: ${pending.join(", ")} waits for another`
  ),
  describer(SubagentRun, "plain", ({ agentId, jobId, label }) => `agent ${agentId} works as ${jobId}: ${label}`),
  describer(TodoWrite, "plain", ({ todos }) => countsText(counts(todos)))
])

const blockText = (block: AgentEvents.AssistantBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "reasoning":
      return `(${block.text})`
    case "tool-call":
      return `[${block.name}]`
  }
}

/**
 * A call of a tool on one line.
 *
 * @since 0.1.0
 * @category rendering
 */
export const callText = (name: string, input: unknown): string => `${name} ${JSON.stringify(input) ?? ""}`.trimEnd()

/**
 * How a turn ended, after `turn N`.
 *
 * @since 0.1.0
 * @category rendering
 */
export const reasonText = (reason: AgentEvents.TurnEndReason): string => {
  switch (reason.kind) {
    case "completed":
      return "completed"
    case "aborted":
      return `was aborted: ${reason.cause}`
    case "error":
      return `ended in an error: ${reason.error.message} (${reason.error.code})`
    case "interrupted":
      return "was interrupted by the end of its process"
    case "step-limit":
      return `was stopped after ${reason.maxSteps} steps`
  }
}

/**
 * A version of a todo list: when it came to be, and the list.
 *
 * @since 0.1.0
 * @category rendering
 */
export const todoVersion = ({ inherited, seq, time, todos, turn }: TodoVersion, surface: Surface): string => {
  const place = turn === null ? "" : `, turn ${turn}`
  const head = `${moment(time)}, event ${seq}${place}${inherited ? " (of the parent)" : ""}`
  return `${line([Row.span(head, "dim")], surface)}\n${todos === null ? "cleared" : checklist(todos)}`
}

/**
 * @since 0.1.0
 * @category rendering
 */
export const checklist = (todos: Parameters<typeof toChecklist>[0]): string =>
  todos.length === 0 ? "an empty list" : toChecklist(todos)

/**
 * A session that was found sound, as one line.
 *
 * @since 0.1.0
 * @category rendering
 */
export const verified = ({ events, id, lease, snapshots, unread }: Verified): string =>
  [
    `${id}: sound`,
    `${events} events`,
    `${snapshots} snapshots`,
    ...(unread === 0 ? [] : [`${unread} not read by this release`]),
    ...(lease === null ? [] : [`${lease.expired ? "last driven" : "driven"} by process ${lease.pid} on ${lease.host}`])
  ].join(", ")
