import { assert, describe, it } from "vitest"
import { checkIdentifiers } from "./Identifiers.js"
import { render, sample } from "./Repository.js"

const check = (files: Record<string, string>) => render(checkIdentifiers(sample(files)))

const error = (name: string, identifier: string, tag = name) =>
  `export class ${name} extends Schema.TaggedError<${name}>("${identifier}")("${tag}", {}) {}\n`

const tag = (name: string, identifier: string) =>
  `export class ${name} extends Context.Tag("${identifier}")<${name}, {}>() {}\n`

describe("checkIdentifiers", () => {
  it("accepts names that are their package's and their class's", () => {
    assert.strictEqual(
      check({
        "packages/jobs/src/Jobs.ts":
          error("JobGone", "@afterturn/jobs/JobGone") +
          tag("Jobs", "@afterturn/jobs/Jobs") +
          'export class Short extends Schema.TaggedError<Short>()("Short", {}) {}\n' +
          'export class Limit extends Context.Reference<Limit>()("@afterturn/jobs/Limit", { defaultValue: () => 1 }) {}\n'
      }),
      ""
    )
  })

  it("names an error tag that two modules have", () => {
    assert.strictEqual(
      check({
        "packages/jobs/src/Jobs.ts": error("NotFound", "@afterturn/jobs/NotFound"),
        "packages/goals/src/Goals.ts": `\n${error("NotFound", "@afterturn/goals/NotFound")}`
      }),
      'packages/goals/src/Goals.ts:2 tag "NotFound" is taken by packages/jobs/src/Jobs.ts:1: rename one'
    )
  })

  it("names an identifier that two modules have", () => {
    assert.match(
      check({
        "packages/jobs/src/Jobs.ts": tag("Jobs", "@afterturn/jobs/Jobs"),
        "packages/jobs/src/Other.ts": tag("Jobs", "@afterturn/jobs/Jobs")
      }),
      /^packages\/jobs\/src\/Other\.ts:1 identifier "@afterturn\/jobs\/Jobs" is taken by packages\/jobs\/src\/Jobs\.ts:1/
    )
  })

  it("names an identifier of the wrong package, form or class", () => {
    const report = check({
      "packages/jobs/src/Jobs.ts":
        tag("A", "@afterturn/goals/A") +
        tag("B", "jobs/B") +
        tag("C", "@afterturn/jobs/D") +
        error("E", "@afterturn/jobs/F") +
        'export class G extends Context.Reference<G>()("G", { defaultValue: () => 1 }) {}\n' +
        'export const H = Context.GenericTag<number>("H")\n'
    }).split("\n")
    assert.deepStrictEqual(
      report.map((line) => line.replace("packages/jobs/src/Jobs.ts:", "")),
      [
        '1 identifier "@afterturn/goals/A": expected "@afterturn/jobs/A"',
        '2 identifier "jobs/B": expected "@afterturn/jobs/B"',
        '3 identifier "@afterturn/jobs/D": expected "@afterturn/jobs/C"',
        '4 identifier "@afterturn/jobs/F": expected "@afterturn/jobs/E"',
        '5 identifier "G": expected "@afterturn/jobs/G"',
        '6 identifier "H": expected "@afterturn/jobs/H"'
      ]
    )
  })

  it("names an error whose tag is not its class's name", () => {
    assert.match(
      check({ "packages/jobs/src/Jobs.ts": error("JobGone", "@afterturn/jobs/JobGone", "Gone") }),
      /:1 tag "Gone" of class JobGone: use the class's name/
    )
  })
})
