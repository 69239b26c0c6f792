#!/usr/bin/env node
/**
 * The entry of the `afterturn` command.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { wantsJson } from "./Argv.js"
import { exitCodes } from "./CliError.js"
import { main } from "./main.js"
import * as NodeOutput from "./Output/Node.js"

let interrupted: number = exitCodes.interrupted
process.once("SIGTERM", () => {
  interrupted = 143
})

const argv = process.argv.slice(2)

// The first signal lets the command end in order; the runtime takes its handlers away then, so a second one ends the process.
main(argv).pipe(
  Effect.provide(NodeOutput.layer({ json: wantsJson(argv) })),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) ? (exit.value as number) : interrupted)
  })
)
