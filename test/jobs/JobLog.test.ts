import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { MessageSource } from "@afterturn/agent/AgentMessage"
import { JobId } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import * as JobLog from "@afterturn/jobs/JobLog"
import type { EventInput, SessionEvent } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as HashMap from "effect/HashMap"
import * as Schema from "effect/Schema"

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()

const stored = (events: ReadonlyArray<EventInput>): ReadonlyArray<SessionEvent> =>
  events.map((event, seq) => ({ ...event, seq, time: at(seq) }) as SessionEvent)

const fold = (...events: ReadonlyArray<EventInput>) => stored(events).reduce(JobLog.ledger.apply, JobLog.ledger.initial)

const id = (text: string) => JobId.make(text)

const start = (job: string, label = "make") =>
  JobEvents.JobStart.make({ id: id(job), kind: JobLog.jobKind(id(job)), label })

const settle = (job: string, facts?: { readonly detail?: string; readonly reason?: string }) =>
  JobEvents.JobSettle.make({ id: id(job), status: "completed", startedAt: at(0), finishedAt: at(1), ...facts })

const claimed = (source: typeof MessageSource.Type) =>
  AgentEvents.UserMessage.make({ id: "msg-1", source, content: [{ type: "text", text: "x" }] })

const result = (name: string, value: unknown) =>
  AgentEvents.ToolResult.make({ callId: "c", name, ok: true, text: "x", value })

const opened = (source: typeof MessageSource.Type, turn = 1) => AgentEvents.TurnStart.make({ turn, source })

const untold = (ledger: JobLog.Ledger) => JobLog.untoldJobs(ledger).map((job) => job.id)

describe("the ledger", () => {
  it("holds a job from its start to its end", () => {
    const process = { pid: 1, group: 1, startedAt: "9", bootId: "b" }
    const open = fold(
      JobEvents.JobStart.make({ id: id("bash-1"), kind: "bash", label: "make", outputLimitBytes: 9, process })
    )
    assert.deepStrictEqual(open.open, {
      "bash-1": {
        id: id("bash-1"),
        kind: "bash",
        label: "make",
        startedAt: at(0),
        outputLimitBytes: 9,
        process,
        stopping: false,
        calledOff: false,
        reason: null
      }
    })
    const ended = fold(start("bash-1"), settle("bash-1", { detail: "exit code: 0" }))
    assert.deepStrictEqual(ended.open, {})
    const job = {
      seq: 1,
      id: id("bash-1"),
      kind: "bash",
      label: "make",
      startedAt: at(0),
      finishedAt: at(1),
      status: "completed" as const,
      detail: "exit code: 0",
      calledOff: false,
      reason: null
    }
    assert.deepStrictEqual(ended.recent, [job])
    assert.deepStrictEqual(JobLog.untoldJobs(ended), [job])
    assert.strictEqual(ended.finished, 1)
  })

  it("knows which were asked to end, and why", () => {
    const kill = (reason?: string) =>
      JobEvents.JobKillRequested.make({ id: id("bash-1"), by: "model", ...(reason === undefined ? {} : { reason }) })
    const asked = fold(start("bash-1"), kill("late"), kill())
    assert.deepInclude(asked.open["bash-1"], { stopping: true, reason: "late" })
    assert.strictEqual(fold(kill()), JobLog.ledger.initial)
    const ended = fold(start("bash-1"), settle("bash-1"), kill("too late"))
    assert.strictEqual(ended.recent[0]?.reason, null)
  })

  it("takes one end of a job, and none of a job that never began", () => {
    const once = fold(start("bash-1"), settle("bash-1", { detail: "first" }), settle("bash-1", { detail: "second" }))
    assert.strictEqual(once.finished, 1)
    assert.strictEqual(once.recent[0]?.detail, "first")
    assert.strictEqual(fold(settle("bash-1")), JobLog.ledger.initial)
  })

  it("counts an end as told by a claimed notice that names it, or by an answer that shows it", () => {
    const ended = [start("bash-1"), start("bash-2"), start("bash-3"), settle("bash-2"), settle("bash-1")]
    assert.deepStrictEqual(untold(fold(...ended)), ["bash-2", "bash-1"])
    const noticed = fold(...ended, claimed({ kind: "job-notice", jobs: ["bash-1", "bash-9"] }))
    assert.deepStrictEqual(untold(noticed), ["bash-2"])
    for (const tool of ["job_output", "job_kill", "bash"]) {
      const shown = fold(...ended, result(tool, { job_id: "bash-2", status: "completed" }))
      assert.deepStrictEqual(untold(shown), ["bash-1"])
    }
    assert.strictEqual(noticed.recent.length, 2)
  })

  it("counts nothing as told by what does not show the end", () => {
    const ended = [start("bash-1"), settle("bash-1")]
    const silent = [
      result("job_output", { job_id: "bash-1", status: "running" }),
      result("job_output", { job_id: "bash-1", status: "stopping" }),
      result("job_output", { job_id: "bash-1", status: "done" }),
      result("job_output", { job_id: 1, status: "completed" }),
      result("job_output", "bash-1 completed"),
      result("job_output", null),
      result("job_list", { jobs: [{ job_id: "bash-1", status: "completed" }] }),
      result("read_file", { job_id: "bash-1", status: "completed" }),
      claimed({ kind: "user" }),
      claimed({ kind: "reminder", occurrences: [] }),
      opened({ kind: "job-notice", jobs: ["bash-1"] })
    ]
    for (const event of silent) assert.deepStrictEqual(untold(fold(...ended, event)), ["bash-1"])
  })

  it("remembers how far the model has read, of jobs that it holds", () => {
    const read = (job: string, cursor: number) => result("job_output", { job_id: job, status: "running", cursor })
    assert.deepStrictEqual(fold(start("bash-1"), read("bash-1", 7), read("bash-1", 9)).cursors, { "bash-1": 9 })
    assert.deepStrictEqual(fold(start("bash-1"), read("bash-2", 7), read("constructor", 1)).cursors, {})
    const many = Array.from({ length: JobLog.recentCapacity + 5 }, (_, index) => `bash-${index + 1}`)
    const all = fold(...many.flatMap((job) => [start(job), read(job, 1), settle(job)]))
    assert.strictEqual(Object.keys(all.cursors).length, JobLog.recentCapacity)
    assert.strictEqual(all.recent.length, JobLog.recentCapacity)
    assert.strictEqual(all.recent.at(-1)?.id, `bash-${many.length}`)
    assert.strictEqual(all.finished, many.length)
    assert.strictEqual(HashMap.size(all.untold), many.length)
  })

  it("counts turns that notices opened in a row, until the user is heard", () => {
    const wake = opened({ kind: "job-notice", jobs: ["bash-1"] })
    const muted = JobEvents.JobWakesMuted.make({ budget: 2, pending: [] })
    const woken = fold(wake, opened({ kind: "reminder", occurrences: [] }), wake, muted)
    assert.deepInclude(woken, { wakes: 2, lastWakeAt: at(2), muted: true })
    const other = claimed({ kind: "agent", sessionId: "s2" as never })
    assert.deepInclude(fold(wake, muted, other), { wakes: 1, muted: true })
    assert.deepInclude(fold(wake, muted, claimed({ kind: "user" })), { wakes: 0, lastWakeAt: null, muted: false })
    assert.strictEqual(fold(claimed({ kind: "user" })), JobLog.ledger.initial)
  })

  it("owes no word of a job that ended after the call that waited for it was cancelled, unless something went wrong", () => {
    const cancelled = JobEvents.JobKillRequested.make({
      id: id("bash-1"),
      reason: "the turn was cancelled",
      by: JobEvents.byCancelledCall
    })
    const byModel = JobEvents.JobKillRequested.make({ id: id("bash-1"), by: "model" })
    const end = (status: "completed" | "killed" | "failed") =>
      JobEvents.JobSettle.make({ id: id("bash-1"), status, startedAt: at(0), finishedAt: at(1) })
    assert.isTrue(fold(start("bash-1"), cancelled).open["bash-1"]?.calledOff)
    for (const requests of [[cancelled], [cancelled, byModel], [byModel, cancelled]]) {
      assert.deepStrictEqual(untold(fold(start("bash-1"), ...requests, end("killed"))), [])
      assert.deepStrictEqual(untold(fold(start("bash-1"), ...requests, end("completed"))), [])
      const failed = fold(start("bash-1"), ...requests, end("failed"))
      assert.deepStrictEqual(
        JobLog.untoldJobs(failed).map(({ calledOff, id }) => [id, calledOff]),
        [["bash-1", true]]
      )
    }
    assert.deepStrictEqual(untold(fold(start("bash-1"), byModel, end("killed"))), ["bash-1"])
    const ended = fold(start("bash-1"), cancelled, end("killed"))
    assert.deepStrictEqual([ended.finished, ended.recent.map((job) => job.id as string)], [1, ["bash-1"]])
    // A request that comes too late takes nothing back.
    assert.deepStrictEqual(untold(fold(start("bash-1"), end("killed"), cancelled)), ["bash-1"])
  })

  it("survives being written down", () => {
    const ledger = fold(
      start("bash-1"),
      start("bash-2"),
      settle("bash-1"),
      result("job_output", { job_id: "bash-2", cursor: 1 })
    )
    const text = JSON.stringify(Schema.encodeSync(JobLog.Ledger)(ledger))
    const back = Schema.decodeUnknownSync(JobLog.Ledger)(JSON.parse(text))
    assert.deepStrictEqual(Schema.encodeSync(JobLog.Ledger)(back), Schema.encodeSync(JobLog.Ledger)(ledger))
    assert.deepStrictEqual(untold(back), ["bash-1"])
  })

  it("folds twenty thousand jobs of whose ends nobody was told in time that grows with their number", () => {
    const jobs = Array.from({ length: 20_000 }, (_, index) => `bash-${index + 1}`)
    const events = stored(jobs.flatMap((job) => [start(job), settle(job)]))
    const ledger = events.reduce(JobLog.ledger.apply, JobLog.ledger.initial)
    assert.strictEqual(HashMap.size(ledger.untold), jobs.length)
  })
})

describe("the counters", () => {
  const count = (...events: ReadonlyArray<EventInput>) =>
    stored(events).reduce(JobLog.counters.apply, JobLog.counters.initial)

  it("hold the last number of each kind, in whatever order starts were stored", () => {
    const counters = count(
      start("bash-2"),
      start("bash-1"),
      start("subagent-1"),
      start("constructor-3"),
      settle("bash-9")
    )
    assert.deepStrictEqual(counters, { bash: 2, subagent: 1, constructor: 3 } as never)
    assert.deepStrictEqual(
      ["bash", "constructor", "toString", "none"].map((kind) => JobLog.lastNumber(counters, kind)),
      [2, 3, 0, 0]
    )
    assert.strictEqual(JobLog.lastNumber({}, "constructor"), 0)
    assert.strictEqual(JobLog.counters.history, "inherited")
  })
})

describe("an id", () => {
  it("is taken apart", () => {
    const parts = ["bash-12", "host-bash-3", "host-4", "my_kind-1"].map((text) => [
      JobLog.jobKind(id(text)),
      JobLog.jobNumber(id(text)),
      JobLog.isUnowned(id(text))
    ])
    assert.deepStrictEqual(parts, [
      ["bash", 12, false],
      ["bash", 3, true],
      ["host", 4, false],
      ["my_kind", 1, false]
    ])
  })
})
