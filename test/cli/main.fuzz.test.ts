import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { inProcess, workplace } from "../support/afterturn.js"
import { nearlyText, numbers, runs, strings } from "../support/hostile.js"

/** Lines of which none needs a model or a process; `DB` stands for the database. */
const valid: ReadonlyArray<ReadonlyArray<string>> = [
  ["sessions", "list", "--limit", "5", "--json"],
  ["sessions", "show", "s1", "--json"],
  ["sessions", "fork", "s1", "--at", "3"],
  ["sessions", "export", "s1"],
  ["sessions", "verify", "s1"],
  ["sessions", "remove", "s1"],
  ["todo", "show", "--session", "s1", "--history"],
  ["goal", "set", "--session", "s1", "--max-rounds", "3", "--max-duration", "2h", "be done"],
  ["schedule", "add", "--session", "s1", "--every", "5m", "look"],
  ["schedule", "list", "--session", "s1"],
  ["jobs", "list", "--session", "s1"],
  ["jobs", "output", "--session", "s1", "bash-1"],
  ["terminals", "--session", "s1", "--size", "80x24", "--keys", "ctrl-c,enter", "term-1"],
  ["tools", "catalog"],
  ["wakes", "--json"],
  ["--completions", "bash"],
  ["sessions", "--help"]
]

const words = fc.oneof(
  fc.constantFrom(
    "--",
    "-",
    "--json",
    "--json=false",
    "--json=maybe",
    "--db=",
    "--help",
    "-h",
    "--version",
    "--limit=",
    "=",
    "--=x",
    "--__proto__",
    "--constructor=1"
  ),
  fc.constantFrom(...strings),
  fc.constantFrom(...numbers.map(String)),
  nearlyText(valid.flat())
)

interface Edit {
  readonly at: number
  readonly remove: number
  readonly put: ReadonlyArray<string>
}

const lines = fc
  .tuple(
    fc.constantFrom(...valid),
    fc.array(fc.record({ at: fc.nat(20), remove: fc.nat(1), put: fc.array(words, { maxLength: 2 }) }), { maxLength: 3 })
  )
  .map(([line, edits]) => edits.reduce(edited, line))

const edited = (line: ReadonlyArray<string>, { at, put, remove }: Edit): ReadonlyArray<string> => {
  const from = at % (line.length + 1)
  return [...line.slice(0, from), ...put, ...line.slice(from + remove)]
}

describe("whatever is typed", () => {
  it.live("is done or refused with a reason and a code; a line that is wrong touches no file", () =>
    Effect.gen(function* () {
      for (const line of fc.sample(lines, runs(25, 400))) {
        const { code, folder, stderr } = yield* typed(line)
        const what = JSON.stringify(line)
        assert.include([0, 1, 2], code, what)
        assert.notInclude(stderr, "unexpected:", what)
        if (code !== 0) assert.match(stderr, /\S/, what)
        // No control characters of what was typed may reach a terminal.
        assert.notMatch(stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/, what)
        if (code === 2) assert.deepStrictEqual(folder, [], what)
      }
    })
  )

  const typed = (line: ReadonlyArray<string>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { folder } = yield* workplace
        const inner = path.join(folder, "data")
        fs.mkdirSync(inner)
        const env = { AFTERTURN_DB: path.join(inner, "sessions.db"), HOME: inner }
        const finished = yield* inProcess(line, { env })
        return { ...finished, folder: fs.readdirSync(inner) }
      })
    )
})
