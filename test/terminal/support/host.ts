/** All that a host of agents with terminals has, over a file. */
import * as path from "node:path"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import * as Pty from "@afterturn/terminal/TerminalBackend/Pty"
import * as TerminalConfig from "@afterturn/terminal/TerminalConfig"
import * as Terminals from "@afterturn/terminal/Terminals"
import * as TerminalTools from "@afterturn/terminal/TerminalTools"
import * as Layer from "effect/Layer"
import * as FakeModel from "../../support/FakeModel.js"

export const layer = (folder: string) =>
  Layer.merge(TerminalTools.layer(), JobTools.layer()).pipe(
    Layer.provideMerge(Terminals.layer),
    Layer.provide(Layer.merge(Pty.layer, TerminalConfig.layer())),
    Layer.provideMerge(Jobs.layer()),
    Layer.provideMerge(AgentLoop.layerRuntime()),
    Layer.provideMerge(FakeModel.replies().layer),
    Layer.provideMerge(layerSqlite({ filename: path.join(folder, "sessions.db") })),
    Layer.orDie
  )
