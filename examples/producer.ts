/**
 * A producer of background jobs: work that goes on while the agent does not, and whose end comes back to it as a turn. A tool of one's
 * own starts it; `job_output`, `job_list` and `job_kill` take it as they take any job.
 */
import { CurrentAgent } from "@afterturn/agent/Agent"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as Job from "@afterturn/jobs/Job"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as TimeTravel from "@afterturn/testing/TimeTravel"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { Console, Effect, Layer, Schema } from "effect"

const toolkit = Toolkit.make(
  Tool.make("build_index", {
    description: "Indexes the sources in the background. You are told when it is done.",
    parameters: { folder: Schema.String },
    success: Schema.Struct({ job_id: Schema.String }),
    failure: Schema.String
  })
)

const index = (folder: string, { setDetail, write }: Job.JobContext) =>
  Effect.gen(function* () {
    for (const part of ["names", "references"]) {
      yield* write(`${folder}: ${part}\n`)
      yield* Effect.sleep("5 minutes")
    }
    yield* setDetail("2 parts")
    return `the index of ${folder} is at .cache/index`
  })

const tools = ToolRegistry.layerToolkit(toolkit, { package: "indexer", requires: ["jobs"], writes: [] }).pipe(
  Layer.provide(
    toolkit.toLayer(
      Effect.gen(function* () {
        const jobs = yield* Jobs.Jobs
        const agents = Effect.flatten(Effect.serviceOption(CurrentAgent))
        return {
          build_index: ({ folder }) =>
            Effect.gen(function* () {
              const { id: owner } = yield* agents
              const spec = Job.make({ kind: "index", label: `index ${folder}`, owner }, (job) => index(folder, job))
              return { job_id: (yield* jobs.start(spec)).id }
            }).pipe(Effect.mapError((error) => error.message))
        }
      })
    )
  )
)

const model = ScriptedModel.layer({
  rules: [
    {
      on: "user",
      steps: [{ calls: [{ tool: "build_index", input: { folder: "src" } }] }, { text: "The index is being built." }]
    },
    {
      on: "job-notice",
      steps: [{ calls: [{ tool: "job_output", input: { job_id: "{{job}}" } }] }, { text: "Ready to search." }]
    }
  ]
})

const runtime = Layer.mergeAll(tools, JobTools.layer(), JobDelivery.layer()).pipe(
  Layer.provideMerge(Jobs.layer()),
  Layer.provideMerge(AgentLoop.layerRuntime()),
  Layer.provideMerge(model),
  Layer.provideMerge(SessionLog.layerMemory)
)

const scenario = TimeTravel.run(runtime, (travel) =>
  Effect.gen(function* () {
    yield* travel.say("Index the sources.")
    yield* travel.advance("10 minutes")
    yield* Console.log(yield* travel.transcript({ times: true }))
  })
)

await Effect.runPromise(scenario)

// output:
// 2026-01-01T00:00:00.000Z turn 1 (user)
// 2026-01-01T00:00:00.000Z   user: Index the sources.
// 2026-01-01T00:00:00.000Z   call build_index {"folder":"src"}
// 2026-01-01T00:00:00.000Z   job index-1 started: index src
// 2026-01-01T00:00:00.000Z   result build_index: {"job_id":"index-1"}
// 2026-01-01T00:00:00.000Z   assistant: The index is being built.
// 2026-01-01T00:00:00.000Z   end completed
// 2026-01-01T00:10:00.000Z job index-1 completed: 2 parts
// 2026-01-01T00:10:00.000Z turn 2 (job-notice index-1)
// 2026-01-01T00:10:00.000Z   job-notice index-1: A background job finished. Read its output with job_output.
//                              - index-1 (index: "index src") [status: completed, 2 parts]
// 2026-01-01T00:10:00.000Z   call job_output {"job_id":"index-1"}
// 2026-01-01T00:10:00.000Z   result job_output: the index of src is at .cache/index
//                              [status: completed, 2 parts]
// 2026-01-01T00:10:00.000Z   assistant: Ready to search.
// 2026-01-01T00:10:00.000Z   end completed
