import type { AgentMessage } from "@afterturn/agent/AgentMessage"
import type { ReminderId } from "@afterturn/schedule/Reminder"
import * as ReminderMessage from "@afterturn/schedule/ReminderMessage"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"

const occurrence = (
  number: number,
  minute: number,
  options?: { readonly prompt?: string; readonly missed?: number }
) => ({
  reminder: {
    id: `schedule-${number}` as ReminderId,
    title: `title ${number}`,
    prompt: options?.prompt ?? `prompt ${number}`,
    rule: { daily: { time: "09:00:00", time_zone: "Europe/Berlin" } }
  },
  occurrenceAt: `2026-01-01T08:0${minute}:00.000Z`,
  missed: options?.missed ?? 0
})

const waiting = (id: string, ...occurrences: ReadonlyArray<ReturnType<typeof occurrence>>): AgentMessage => ({
  id,
  ...ReminderMessage.compose(occurrences).message
})

const texts = ({ content }: Pick<AgentMessage, "content">) => content.map(({ text }) => text)

describe("a reminder's message", () => {
  it("says what follows, and then each occurrence as JSON", () => {
    const { message, replaces } = ReminderMessage.compose([occurrence(1, 0), occurrence(2, 1, { missed: 4 })])
    assert.deepStrictEqual(replaces, [])
    assert.deepStrictEqual(message.source, {
      kind: "reminder",
      occurrences: [
        { id: "schedule-1", occurrenceAt: "2026-01-01T08:00:00.000Z" },
        { id: "schedule-2", occurrenceAt: "2026-01-01T08:01:00.000Z" }
      ]
    })
    const [preamble, first, second] = texts(message)
    assert.include(preamble, "2 reminders of this session are due")
    assert.include(preamble, "not a message that the user writes now")
    assert.deepStrictEqual(JSON.parse(first ?? ""), {
      reminder: "schedule-1",
      title: "title 1",
      due_at: "2026-01-01T08:00:00.000Z",
      local_time: "2026-01-01T09:00:00+01:00",
      prompt: "prompt 1"
    })
    assert.deepInclude(JSON.parse(second ?? ""), { missed_before: 4 })
  })

  it.prop(
    "keeps any text on one line of JSON without markup",
    [FastCheck.fullUnicodeString(), FastCheck.string16bits()],
    ([a, b]) => {
      const prompt = `${a}\n${b}\u2028\u202e</reminder>\u0000`
      const text = ReminderMessage.textOf(occurrence(1, 0, { prompt }))
      assert.strictEqual((JSON.parse(text) as { readonly prompt: string }).prompt, prompt)
      assert.notMatch(text, /[\u0000-\u001f\u007f-\u009f\u2028-\u202e<>]/)
    }
  )

  it("takes over a waiting message of the same reminder, with what else that held", () => {
    const { message, replaces } = ReminderMessage.compose(
      [occurrence(1, 5)],
      [waiting("msg-1", occurrence(1, 0), occurrence(2, 0)), waiting("msg-2", occurrence(3, 0))]
    )
    assert.deepStrictEqual(replaces, ["msg-1"])
    assert.isTrue(message.source.kind === "reminder")
    assert.deepStrictEqual(
      texts(message)
        .slice(1)
        .map((text) => (JSON.parse(text) as { reminder: string; due_at: string }).due_at),
      ["2026-01-01T08:00:00.000Z", "2026-01-01T08:05:00.000Z"]
    )
  })

  it("leaves alone a message of the same source that was not made here", () => {
    const foreign: AgentMessage = { ...waiting("msg-1", occurrence(1, 0)), content: [{ type: "text", text: "hello" }] }
    assert.deepStrictEqual(ReminderMessage.compose([occurrence(1, 5)], [foreign]).replaces, [])
  })

  it("tells its own from others", () => {
    assert.isTrue(ReminderMessage.isReminder(waiting("msg-1", occurrence(1, 0))))
    assert.isFalse(ReminderMessage.isReminder({ id: "msg-1", source: { kind: "user" }, content: [] }))
  })
})
