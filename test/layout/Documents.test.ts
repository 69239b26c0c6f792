import { assert, describe, it } from "vitest"
import { checkDocuments } from "./Documents.js"
import { render, sample } from "./Repository.js"

const check = (document: string) =>
  render(
    checkDocuments(
      sample({
        "docs/recipes/tea.md": document,
        "docs/kettle.md": "",
        "examples/tea.ts": "const water = 1\nconst leaf = 2\n\nconst tea = water + leaf\n"
      })
    )
  )

const excerpt = (code: string) => `From [\`examples/tea.ts\`](../../examples/tea.ts):\n\n\`\`\`ts\n${code}\n\`\`\`\n`

describe("checkDocuments", () => {
  it("accepts links to files, folders, places in them and elsewhere", () => {
    assert.strictEqual(
      check(
        "[a](../kettle.md#water) [b](../../examples) [c](https://example.org/x) [d](#here)\n```\n[e](nowhere)\n```\n"
      ),
      ""
    )
  })

  it("names a link to nothing", () => {
    assert.strictEqual(
      check("\n[a](kettle.md)"),
      "docs/recipes/tea.md:2 links to kettle.md, and there is no docs/recipes/kettle.md"
    )
  })

  it("accepts a piece of an example, and names one that is none any more", () => {
    assert.strictEqual(check(excerpt("const leaf = 2\n\nconst tea = water + leaf")), "")
    assert.match(check(excerpt("const leaf = 3")), /^docs\/recipes\/tea\.md:4 is not what examples\/tea\.ts says/)
    assert.match(check(excerpt("const leaf = 2").replace("```ts", "text")), /^docs\/recipes\/tea\.md:1 expected/)
  })
})
