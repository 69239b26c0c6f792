import * as fs from "node:fs"
import * as path from "node:path"
import { agentLayer } from "@afterturn/cli/Compose"
import { Session } from "@afterturn/cluster/SessionProtocol"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLogOptions } from "@afterturn/session-log/SessionLog"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Temporary from "../support/temporary.js"

export const sessionId = SessionId.make("s1")

const script = {
  rules: [
    {
      on: "user",
      match: "long",
      repeat: true,
      steps: [
        {
          text: "Starting.",
          calls: [
            {
              tool: "bash",
              input: { description: "a long one", command: "echo begun; sleep 600", run_in_background: true }
            }
          ]
        },
        { text: "It runs." }
      ]
    },
    {
      on: "user",
      match: "plan",
      repeat: true,
      steps: [
        {
          text: "",
          calls: [{ tool: "todo_write", input: { todos: [{ content: "Write it down", status: "pending" }] } }]
        },
        { text: "Planned." }
      ]
    },
    { on: "job-notice", repeat: true, steps: [{ text: "A job has ended." }] },
    { on: "reminder", repeat: true, steps: [{ text: "Reminded." }] }
  ],
  otherwise: [{ text: "Done." }]
}

/** A script that follows what it is asked for: `long` starts a job, `plan` makes a todo list, anything else is answered. */
export const scriptFile = Effect.map(Temporary.folder, (folder) => {
  const file = path.join(folder, "script.json")
  fs.writeFileSync(file, JSON.stringify(script))
  return file
})

/** Agents with every capability on a database. */
export const agentsOn = (db: string, log: SessionLogOptions = {}) =>
  Layer.unwrapScoped(
    Effect.map(scriptFile, (file) =>
      agentLayer({ db, log, route: `scripted:${file}`, approval: { policy: "allow" } }).pipe(
        // The script and the database are known to be fine.
        Layer.orDie
      )
    )
  ).pipe(Layer.provide(NodeContext.layer))

export const agents = agentsOn(":memory:")

/** The session of tests, made when there is none. */
export const session = Effect.gen(function* () {
  const client = (yield* Session.client)(sessionId)
  yield* client.Create({ cwd: process.cwd() })
  return client
})
