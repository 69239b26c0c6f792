import * as ScriptTemplate from "@afterturn/testing/ScriptTemplate"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

const values: ScriptTemplate.TemplateValues = {
  result: { tool: "bash", value: { id: "x1", count: 3, items: [{ name: "a" }, { name: "b" }], none: null } },
  job: "bash-7"
}
const place = { step: "rules[0].steps[1]", at: "calls[0].input" }

const fill = (source: unknown, from = values) => Either.getOrThrow(ScriptTemplate.value(source, from, place))
const refusal = (source: unknown, from = values) =>
  Either.getOrThrow(Either.flip(ScriptTemplate.value(source, from, place))).message

describe("ScriptTemplate", () => {
  it("fills strings at any depth", () => {
    assert.deepStrictEqual(fill({ jobs: ["wait for {{job}}", { id: "{{ result.id }}" }], plain: 1, nothing: null }), {
      jobs: ["wait for bash-7", { id: "x1" }],
      plain: 1,
      nothing: null
    })
  })

  it("keeps the type of a value that fills a whole string", () => {
    assert.deepStrictEqual(
      fill(["{{result.count}}", "{{result.items}}", "{{result.none}}", "{{result.items.1.name}}"]),
      [3, [{ name: "a" }, { name: "b" }], null, "b"]
    )
    assert.deepStrictEqual(fill("{{result}}"), values.result?.value)
  })

  it("writes values inside of text as JSON, strings as they are", () => {
    assert.strictEqual(
      fill("{{result.count}} of {{result.items.0}}, {{result.id}}, {{result.none}}"),
      '3 of {"name":"a"}, x1, null'
    )
    assert.strictEqual(
      Either.getOrThrow(ScriptTemplate.text("{{result.items}}", values, place)),
      '[{"name":"a"},{"name":"b"}]'
    )
  })

  it("does not fill what a value brought in", () => {
    assert.strictEqual(
      fill("{{result}} {{job}}", { ...values, result: { tool: "t", value: "{{job}}" } }),
      "{{job}} bash-7"
    )
  })

  it("leaves other braces alone", () => {
    const text = "docker ps --format '{{.ID}} {{json .Names}}' {{jobs}} {{result}x}} {{ }}"
    assert.strictEqual(fill(text), text)
  })

  it("names the step, the place and the path that is unknown", () => {
    assert.strictEqual(
      refusal({ a: [{ b: "see {{result.items.2.name}}" }] }),
      'rules[0].steps[1].calls[0].input.a[0].b: {{result.items.2.name}}: "2" is not in the newest result, of bash: ' +
        '{"id":"x1","count":3,"items":[{"name":"a"},{"name":"b"}],"none":null}'
    )
  })

  it("reads own properties only", () => {
    for (const path of ["constructor", "items.length", "id.length", "__proto__", "none.x"]) {
      assert.match(refusal(`{{result.${path}}}`), /is not in the newest result/)
    }
  })

  it("says that there is no result and no job yet", () => {
    const nothing = { result: undefined, job: undefined }
    assert.match(refusal("{{job}}", nothing), /\{\{job\}\}: no job was started in this session$/)
    assert.match(refusal("{{result.id}}", nothing), /no tool has returned anything in this session$/)
  })
})
