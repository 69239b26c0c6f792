/** Declares the contract of the agent seam, which the kit has for every runtime, as tests of one. */
import * as AgentContract from "@afterturn/testing/AgentContract"
import { describe, it } from "@effect/vitest"

export const declareAgentSeam = <R>(name: string, runtime: AgentContract.Runtime<R>): void => {
  describe(`${name}, as an agent`, () => {
    for (const each of AgentContract.cases(runtime)) it.effect(each.name, () => each.run)
  })
}
