/**
 * What the session log does whatever store is under it. Each test builds the layer anew, so a layer over a file must make a
 * file of its own.
 */
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Services } from "../sessionLog.js"
import { types } from "../sessionLog.js"
import { appending } from "./sessionLog/appending.js"
import { following } from "./sessionLog/following.js"
import { forking } from "./sessionLog/forking.js"
import { leasing } from "./sessionLog/leasing.js"
import { moving } from "./sessionLog/moving.js"
import { projecting } from "./sessionLog/projecting.js"
import { reading } from "./sessionLog/reading.js"
import { sessions } from "./sessionLog/sessions.js"
import type { Test } from "./sessionLog/test.js"

export { total } from "./sessionLog/test.js"

export const contract = <E>(name: string, layer: Layer.Layer<Services, E>): void => {
  describe(`session log on ${name}`, () => {
    const all = Layer.provideMerge(types, layer)
    const test: Test = (title, effect) => it.scoped(title, () => Effect.provide(Effect.suspend(effect), all), 30_000)
    for (const part of [sessions, appending, reading, following, forking, moving, projecting, leasing]) part(test)
  })
}
