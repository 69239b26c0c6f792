import * as Argv from "@afterturn/cli/Argv"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

const json = { names: ["--json"], takesValue: false }
const db = { names: ["--db"], takesValue: true }

const root: Argv.CommandSpec = {
  name: "tool",
  options: [],
  maxArgs: 0,
  children: [
    { name: "say", options: [json, db, { names: ["--to"], takesValue: true }], maxArgs: 1, children: [] },
    {
      name: "files",
      options: [],
      maxArgs: 0,
      children: [
        { name: "list", options: [json, db], maxArgs: 0, children: [] },
        { name: "say", options: [json], maxArgs: 1, children: [] }
      ]
    }
  ]
}

const parse = (...argv: ReadonlyArray<string>) => Either.getOrThrow(Argv.parse(root, argv))

const refusal = (...argv: ReadonlyArray<string>) =>
  Either.match(Argv.parse(root, argv), {
    onLeft: ({ code, exit, message }) => {
      assert.strictEqual(code, "usage")
      assert.strictEqual(exit, 2)
      return message
    },
    onRight: (request) => assert.fail(`accepted: ${JSON.stringify(request)}`)
  })

const runs = (path: ReadonlyArray<string>, ...args: ReadonlyArray<string>) =>
  ({ _tag: "Run", path, args, logLevel: undefined, otlp: undefined }) as const

describe("Argv", () => {
  it("brings options, wherever they stand, before the arguments", () => {
    const expected = runs(["say"], "--json", "--db", "x.db", "--", "hello")
    assert.deepStrictEqual(parse("say", "--json", "--db", "x.db", "hello"), expected)
    assert.deepStrictEqual(parse("say", "hello", "--json", "--db", "x.db"), expected)
    assert.deepStrictEqual(parse("--json", "--db=x.db", "say", "hello"), expected)
  })

  it("goes down to a nested command past options that stand between", () => {
    assert.deepStrictEqual(
      parse("files", "--db", "say", "list", "--json"),
      runs(["files", "list"], "--db", "say", "--json", "--")
    )
  })

  it("takes the words of a command's name as arguments once it is found", () => {
    assert.deepStrictEqual(parse("say", "files"), runs(["say"], "--", "files"))
  })

  it("takes a value for what it is: an option's name, nothing, an equals sign", () => {
    assert.deepStrictEqual(parse("say", "--db", "--json", "x"), runs(["say"], "--db", "--json", "--", "x"))
    assert.deepStrictEqual(parse("say", "--db=", "x"), runs(["say"], "--db", "", "--", "x"))
    assert.deepStrictEqual(parse("say", "--db=a=b", "x"), runs(["say"], "--db", "a=b", "--", "x"))
  })

  it("refuses a second value of an option, and -- as a value", () => {
    assert.strictEqual(refusal("say", "--db", "a", "--db=b", "x"), 'expected --db once, got "a" and "b"')
    for (const line of [
      ["say", "--db=--", "x"],
      ["say", "--db", "--", "x"]
    ]) {
      assert.strictEqual(refusal(...line), '--db: expected a value, got "--", which ends the options')
    }
  })

  it("lets the last of a switch and its opposite count", () => {
    assert.deepStrictEqual(parse("say", "--json", "--json=false", "x"), runs(["say"], "--", "x"))
  })

  it("never takes an argument for the value of a switch", () => {
    assert.deepStrictEqual(parse("say", "--json", "no"), runs(["say"], "--json", "--", "no"))
  })

  it("hides what looks like an option after -- from the parser behind, and unescape gives it back", () => {
    for (const word of ["--help", "-x", "\\-x", "-", "\\", "plain"]) {
      const request = parse("say", "--", word)
      assert.strictEqual(request._tag, "Run")
      const last = request._tag === "Run" ? (request.args.at(-1) ?? "") : ""
      assert.isFalse(last.startsWith("-"), word)
      assert.strictEqual(Argv.unescape(last), word)
    }
  })

  it("takes - as an argument", () => {
    assert.deepStrictEqual(parse("say", "-"), runs(["say"], "--", "\\-"))
  })

  it("answers help for the command that was named, whatever else is wrong", () => {
    assert.deepStrictEqual(parse(), { _tag: "Help", path: [] })
    assert.deepStrictEqual(parse("-h"), { _tag: "Help", path: [] })
    assert.deepStrictEqual(parse("files", "list", "a", "b", "--help"), { _tag: "Help", path: ["files", "list"] })
    assert.deepStrictEqual(parse("say", "--to", "--help", "--help"), { _tag: "Help", path: ["say"] })
  })

  it("reads the options of every command", () => {
    assert.deepStrictEqual(parse("--version"), { _tag: "Version" })
    assert.deepStrictEqual(parse("--completions", "zsh"), { _tag: "Completions", shell: "zsh" })
    assert.deepStrictEqual(parse("say", "x", "--log-level=debug"), { ...runs(["say"], "--", "x"), logLevel: "debug" })
    assert.deepStrictEqual(parse("--otlp", "http://c", "say", "x"), { ...runs(["say"], "--", "x"), otlp: "http://c" })
    assert.strictEqual(
      refusal("--completions", "tcsh"),
      '--completions: expected one of bash, fish, sh, zsh, got "tcsh"'
    )
  })

  it("names what it does not know, and what was probably meant", () => {
    assert.strictEqual(refusal("sya"), 'tool has no command "sya", did you mean say?; see tool --help')
    assert.strictEqual(refusal("files", "remove"), 'tool files has no command "remove"; see tool files --help')
    assert.strictEqual(refusal("files"), "tool files: expected a command, one of list, say")
    assert.strictEqual(
      refusal("files", "list", "--jsn"),
      "tool files list has no option --jsn, did you mean --json?; see tool files list --help"
    )
    assert.strictEqual(refusal("say", "-q", "x"), "tool say has no option -q; see tool say --help")
  })

  it("knows no help, and nothing else, of a command that there is not", () => {
    for (const option of ["--help", "-h", "--version", "--completions=bash", "--json"]) {
      assert.strictEqual(refusal("sya", option), 'tool has no command "sya", did you mean say?; see tool --help')
      assert.strictEqual(refusal(option, "files", "x"), 'tool files has no command "x"; see tool files --help')
    }
  })

  it("refuses an option of another command", () => {
    assert.strictEqual(
      refusal("files", "list", "--to", "x"),
      "tool files list has no option --to; see tool files list --help"
    )
  })

  it("refuses a value that is missing, one too many and an argument too many", () => {
    assert.strictEqual(refusal("say", "x", "--db"), "expected a value after --db")
    assert.strictEqual(refusal("say", "--json=maybe", "x"), '--json takes no value, got "maybe"')
    assert.strictEqual(refusal("say", "a", "b"), 'unexpected argument "b"; see tool say --help')
  })

  it("knows that JSON is wanted of a line that it cannot read", () => {
    assert.isTrue(Argv.wantsJson(["nope", "--json"]))
    assert.isFalse(Argv.wantsJson(["say", "--", "--json"]))
    assert.isFalse(Argv.wantsJson(["say"]))
  })
})
