/** All that a host of agents with the tool has, over a file. */
import * as path from "node:path"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as FileSpool from "@afterturn/jobs/JobSpool/Files"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobsConfig from "@afterturn/jobs/JobsConfig"
import * as JobTools from "@afterturn/jobs/JobTools"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import * as Shell from "@afterturn/shell/Shell"
import * as Node from "@afterturn/shell/ShellBackend/Node"
import * as ShellConfig from "@afterturn/shell/ShellConfig"
import * as ShellTools from "@afterturn/shell/ShellTools"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Layer from "effect/Layer"
import * as FakeModel from "../../support/FakeModel.js"

export const layer = (folder: string) =>
  Layer.merge(ShellTools.layer(), JobTools.layer()).pipe(
    Layer.provide(Shell.layer),
    Layer.provide(Layer.merge(Node.layer, ShellConfig.layer())),
    Layer.provideMerge(Jobs.layerLocal),
    Layer.provideMerge(
      Layer.merge(
        JobsConfig.layer(),
        Layer.provide(FileSpool.layer({ directory: path.join(folder, "output") }), NodeContext.layer)
      )
    ),
    Layer.provideMerge(AgentLoop.layerRuntime()),
    Layer.provideMerge(FakeModel.replies().layer),
    Layer.provideMerge(layerSqlite({ filename: path.join(folder, "sessions.db") })),
    Layer.orDie
  )
