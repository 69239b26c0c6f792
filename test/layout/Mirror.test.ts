import { assert, describe, it } from "vitest"
import { checkMirror } from "./Mirror.js"
import { render, sample } from "./Repository.js"

const manifest = { "packages/jobs/package.json": "{}" }
const behaviour = "export const one = () => 1\n"

const check = (files: Record<string, string>, untested: Record<string, string> = {}) =>
  render(checkMirror(sample({ ...manifest, ...files }), untested))

describe("checkMirror", () => {
  it("accepts a test beside its module, at every depth, with an aspect or slow", () => {
    const files = {
      "packages/jobs/src/index.ts": 'export * as Jobs from "./Jobs.js"\n',
      "packages/jobs/src/Jobs.ts": behaviour,
      "packages/jobs/src/JobStore/Sqlite.ts": behaviour,
      "packages/jobs/src/internal/ring.ts": behaviour,
      "test/jobs/Jobs.test.ts": "",
      "test/jobs/Jobs.restart.test.ts": "",
      "test/jobs/Jobs.slow.test.ts": "",
      "test/jobs/JobStore/Sqlite.test.ts": "",
      "test/jobs/fixtures/sample.test.ts": "",
      "test/support/contracts/JobStore.ts": "",
      "test/layout/Mirror.test.ts": "",
      "test/examples/run.test.ts": ""
    }
    assert.strictEqual(check(files), "")
  })

  it("counts a test of one aspect as a test of its module", () => {
    const aspect = { "test/jobs/Jobs.restart.test.ts": "" }
    assert.strictEqual(check({ ...aspect, "packages/jobs/src/Jobs.ts": behaviour }), "")
    assert.match(check(aspect), /^test\/jobs\/Jobs\.restart\.test\.ts:1 tests no module/)
  })

  it("names a test whose module does not exist", () => {
    const report = check({
      "packages/jobs/src/Jobs.ts": behaviour,
      "test/jobs/Jobs.test.ts": "",
      "test/jobs/Job.test.ts": "",
      "test/job/Jobs.test.ts": ""
    })
    assert.match(report, /^test\/jobs\/Job\.test\.ts:1 tests no module: packages\/jobs\/src\/Job\.ts does not exist/)
    assert.match(report, /\ntest\/job\/Jobs\.test\.ts:1 tests no module: packages\/job\/src\/Jobs\.ts does not exist/)
  })

  it("names a package without tests, once it has modules", () => {
    assert.strictEqual(check({ "packages/jobs/src/index.ts": "export {}\n" }), "")
    assert.match(
      check({ "packages/jobs/src/Jobs.ts": "export interface Job {}\n" }),
      /^packages\/jobs\/package\.json:1 has no test: add test\/jobs\//
    )
  })

  it("names a module with behaviour and without a test", () => {
    const report = check({
      "packages/jobs/src/Jobs.ts": behaviour,
      "packages/jobs/src/Ring.ts": behaviour,
      "test/jobs/Jobs.test.ts": ""
    })
    assert.match(report, /^packages\/jobs\/src\/Ring\.ts:1 has no test: add test\/jobs\/Ring\.test\.ts/)
  })

  it("asks no test of a module that only declares: types, a tag, an error and its message", () => {
    const declares = `
      import * as Context from "effect/Context"
      import * as Schema from "effect/Schema"
      export class JobError extends Schema.TaggedError<JobError>()("JobError", { id: Schema.String }) {
        override get message(): string {
          return this.id
        }
      }
      export class Jobs extends Context.Tag("@afterturn/jobs/Jobs")<Jobs, { readonly list: () => number }>() {}
    `
    assert.strictEqual(
      check({
        "packages/jobs/src/Jobs.ts": declares,
        "packages/jobs/src/Ring.ts": behaviour,
        "test/jobs/Ring.test.ts": ""
      }),
      ""
    )
  })

  it("accepts an exception and names one that is not needed", () => {
    const files = {
      "packages/jobs/src/Jobs.ts": behaviour,
      "packages/jobs/src/Ring.ts": behaviour,
      "test/jobs/Jobs.test.ts": ""
    }
    assert.strictEqual(check(files, { "packages/jobs/src/Ring.ts": "covered by Jobs" }), "")
    assert.match(
      check({ ...files, "test/jobs/Ring.test.ts": "" }, { "packages/jobs/src/Ring.ts": "covered by Jobs" }),
      /^packages\/jobs\/src\/Ring\.ts:1 is named in `untested` and does not need it/
    )
  })
})
