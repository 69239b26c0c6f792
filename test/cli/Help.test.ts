import { root } from "@afterturn/cli/Commands"
import * as Help from "@afterturn/cli/Help"
import { assert, describe, it } from "@effect/vitest"
import * as Option from "effect/Option"

type Doc = Help.HelpSource["help"]
type Usage = Help.HelpSource["usage"]

// As @effect/cli makes them.
const text = (value: string) => ({ _tag: "Text", value }) as const
const paragraph = (value: string): Doc => ({ _tag: "Paragraph", value: text(value) })
const blocks = (...docs: ReadonlyArray<Doc>): Doc => docs.reduce((left, right) => ({ _tag: "Sequence", left, right }))
const entry = (term: string, ...lines: ReadonlyArray<string>): Doc => ({
  _tag: "DescriptionList",
  definitions: [[text(term), blocks(...lines.map(paragraph))]]
})
const named = (names: ReadonlyArray<string>, value?: string): Usage => ({
  _tag: "Named",
  names,
  acceptedValues: Option.fromNullable(value)
})
const optional = (usage: Usage): Usage => ({ _tag: "Optional", usage })
const concat = (...parts: ReadonlyArray<Usage>): Usage =>
  parts.reduce((left, right) => ({ _tag: "Concat", left, right }))

const copy: Help.HelpSource = {
  call: "tool copy",
  usage: concat(
    named(["copy"]),
    optional(named(["--force", "-f"])),
    optional(named(["--to"], "DIR")),
    named(["<FILE>"]),
    optional(named(["<NAME>"]))
  ),
  help: blocks(
    paragraph("Copies a file."),
    paragraph("$ tool copy a"),
    paragraph("$ tool copy b c"),
    entry("<FILE>", "A user-defined piece of text.", "What to copy."),
    entry("<NAME>", "A user-defined piece of text.", "This setting is optional."),
    entry("(--force, -f)", "A true or false value.", "Overwrites.", "This setting is optional."),
    entry("--to DIR", "A user-defined piece of text.", "Where to.", "This setting is optional.")
  ),
  children: []
}

describe("Help", () => {
  it("shows what a command does, takes and understands", () => {
    assert.strictEqual(
      Help.render(copy, 60),
      `Usage: tool copy [OPTIONS] FILE [NAME]

  Copies a file.

    $ tool copy a
    $ tool copy b c

Arguments:
  FILE  What to copy.
  NAME

Options:
  --force, -f        Overwrites.
  --to DIR           Where to.
  --log-level LEVEL  What is logged to stderr: all, debug,
                     info, warning (the default), error or
                     none.
  --otlp URL         Where to send traces, metrics and logs.
                     Default: $OTEL_EXPORTER_OTLP_ENDPOINT.
  -h, --help         Shows this text.`
    )
  })

  it("lists the commands of a group with their arguments", () => {
    const group: Help.HelpSource = { ...copy, call: "tool", help: paragraph("A tool."), children: [copy] }
    const lines = Help.render(group, 80).split("\n")
    assert.strictEqual(lines[0], "Usage: tool COMMAND")
    assert.include(lines, "  copy FILE [NAME]  Copies a file.")
    assert.include(lines, "  --version            Shows the version.")
  })

  it("tells options from arguments, and switches from options with a value", () => {
    assert.deepStrictEqual(Help.argumentsOf(copy.usage), [
      { names: ["<FILE>"], value: undefined, optional: false },
      { names: ["<NAME>"], value: undefined, optional: true }
    ])
    assert.deepStrictEqual(
      Help.optionsOf(copy.usage).map(({ names, value }) => [names, value]),
      [
        [["--force", "-f"], undefined],
        [["--to"], "DIR"]
      ]
    )
  })

  it("fits every command into 80 columns", () => {
    const all = (command: typeof root): ReadonlyArray<typeof root> => [command, ...command.children.flatMap(all)]
    for (const command of all(root)) {
      const long = Help.render(command, 80)
        .split("\n")
        .filter((line) => line.length > 80 && !line.startsWith("    $ "))
      assert.deepStrictEqual(long, [], command.call)
    }
  })

  it("reads the paragraphs of an error", () => {
    assert.strictEqual(Help.plainText(blocks(paragraph("one"), paragraph("two"))), "one two")
  })
})
