import * as JobEvents from "@afterturn/jobs/JobEvents"
import { assert, describe, it } from "@effect/vitest"

/** Events as they are stored: what a log of an earlier release may hold. */
const stored = {
  "job/start": [
    { id: "bash-1", kind: "bash", label: "make" },
    {
      id: "bash-1",
      kind: "bash",
      label: "make",
      outputLimitBytes: 30000,
      process: { pid: 1, group: 1, startedAt: "99", bootId: "b" }
    }
  ],
  "job/kill-requested": [
    { id: "bash-1", by: "model" },
    { id: "bash-1", reason: "late", by: "host" }
  ],
  "job/settle": [
    {
      id: "bash-1",
      status: "completed",
      startedAt: "2026-01-01T00:00:00.000Z",
      finishedAt: "2026-01-01T00:00:01.000Z"
    },
    {
      id: "bash-1",
      status: "failed",
      detail: "exit code: 3",
      reason: "late",
      startedAt: "2026-01-01T00:00:00.000Z",
      finishedAt: "2026-01-01T00:00:01.000Z"
    }
  ],
  "job/wakes-muted": [{ budget: 3, pending: ["bash-1"] }]
}

describe("the events of the ledger", () => {
  it("are these, and none may be skipped by who does not know it", () => {
    assert.deepStrictEqual(
      JobEvents.all.map(({ type }) => type),
      Object.keys(stored)
    )
    assert.isFalse(JobEvents.all.some(({ ignorable }) => ignorable))
  })

  it("take what is stored, and nothing else", () => {
    for (const event of JobEvents.all) {
      for (const data of stored[event.type as keyof typeof stored]) {
        assert.isUndefined(event.problem(data))
        assert.match(event.problem({ ...data, more: true }) ?? "", /more/)
      }
    }
    const [start] = stored["job/start"]
    assert.match(JobEvents.JobStart.problem({ ...start, id: "../x" }) ?? "", /expected a job id/)
    const [settle] = stored["job/settle"]
    assert.isDefined(JobEvents.JobSettle.problem({ ...settle, status: "running" }))
    assert.isDefined(JobEvents.JobSettle.problem({ ...settle, finishedAt: "yesterday" }))
  })
})
