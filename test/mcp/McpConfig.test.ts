import * as McpConfig from "@afterturn/mcp/McpConfig"
import * as Duration from "effect/Duration"
import { assert, describe, it } from "vitest"

describe("McpConfig", () => {
  it("has the documented defaults, and takes what differs", () => {
    const { answerPatience, name, patience, progressInterval, version } = McpConfig.make({ version: "1.0.0" })
    assert.deepStrictEqual(
      [
        name,
        version,
        Duration.toSeconds(patience),
        Duration.toSeconds(progressInterval),
        Duration.toMinutes(answerPatience)
      ],
      ["afterturn", "1.0.0", 45, 5, 5]
    )
  })
})
