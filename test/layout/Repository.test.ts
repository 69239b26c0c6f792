import { assert, describe, it } from "vitest"
import { checkArrows } from "./Arrows.js"
import { checkDocuments } from "./Documents.js"
import { checkDoors } from "./Doors.js"
import type { Allowed } from "./Forbidden.js"
import { checkForbidden } from "./Forbidden.js"
import { checkIdentifiers } from "./Identifiers.js"
import type { Untested } from "./Mirror.js"
import { checkMirror } from "./Mirror.js"
import { checkReasons } from "./Reasons.js"
import type { Finding } from "./Repository.js"
import { readRepository, render } from "./Repository.js"
import { checkSwitchedOff } from "./SwitchedOff.js"
import { checkTopLevel } from "./TopLevel.js"
import { checkWiring } from "./Wiring.js"
import { checkWords } from "./Words.js"

// Public modules without a test file of their own: path to reason. Rather test than add.
const untested: Untested = {}

// Uses of a forbidden call that stay. Rather take the service than add.
const allowed: ReadonlyArray<Allowed> = []

const files = readRepository(new URL("../..", import.meta.url).pathname)

const expectNone = (findings: ReadonlyArray<Finding>) => {
  if (findings.length > 0) assert.fail(`\n${render(findings)}`)
}

describe("the repository", () => {
  it("is read", () => assert.isTrue(files.has("packages/session-log/src/SessionLog.ts")))

  it("has the agreed top level", () => expectNone(checkTopLevel(files)))

  it("has its tests where its modules are", () => expectNone(checkMirror(files, untested)))

  it("has arrows that point down", () => expectNone(checkArrows(files)))

  it("has each tag and identifier once", () => expectNone(checkIdentifiers(files)))

  it("takes time, randomness, environment and fibers from its layers", () => expectNone(checkForbidden(files, allowed)))

  it("gives a reason where errors or types are dropped", () => expectNone(checkReasons(files)))

  it("runs every test", () => expectNone(checkSwitchedOff(files)))

  it("speaks of itself only", () => expectNone(checkWords(files)))

  it("has documents that hold", () => expectNone(checkDocuments(files)))

  it("has packages that open the same way", () => expectNone(checkDoors(files)))

  it("names each package wherever it must be named", () => expectNone(checkWiring(files)))
})
