import { describe, it } from "@effect/vitest"
import { twoHosts } from "./support/hosts.js"

describe("two hosts on one store", () => {
  it.live("deliver a thousand due reminders, each once", () => twoHosts(1000), 600_000)
})
