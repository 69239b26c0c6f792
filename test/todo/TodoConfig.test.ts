import type { TodoSettings } from "@afterturn/todo/TodoConfig"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import { assert, describe, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"

const settingsOf = <E>(layer: Layer.Layer<TodoConfig.TodoConfig, E>) => Effect.provide(TodoConfig.TodoConfig, layer)

const defaults: TodoSettings = {
  allowParallelInProgress: false,
  clearOn: "every-turn",
  maxItems: 1000,
  maxContentLength: 10_000,
  maxTotalLength: 1_000_000
}

const problemOf = (options: unknown): string => {
  const error = Either.getOrThrow(Either.flip(TodoConfig.parse(options)))
  assert.strictEqual(error._tag, "InvalidTodoConfig")
  return error.message
}

describe("TodoConfig", () => {
  it("does not type-check without the choice of parallel work", () => {
    // @ts-expect-error: it has no default, so these are what a compiler must refuse
    TodoConfig.layer({})
    // @ts-expect-error: likewise
    TodoConfig.layer({ clearOn: "user-turn", maxItems: 10 })
    // @ts-expect-error: likewise
    TodoConfig.layerConfig({ clearOn: Config.succeed("user-turn" as const) })
    // @ts-expect-error: text is no choice
    TodoConfig.layer({ allowParallelInProgress: "false" })
  })

  it.effect("has defaults for everything else", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* settingsOf(TodoConfig.layer({ allowParallelInProgress: false })), defaults)
      const all = {
        allowParallelInProgress: true,
        clearOn: "user-turn",
        maxItems: 3,
        maxContentLength: 5,
        maxTotalLength: 9
      } as const
      assert.deepStrictEqual(yield* settingsOf(TodoConfig.layer(all)), all)
      const absent = { allowParallelInProgress: false, clearOn: undefined, maxItems: undefined }
      assert.deepStrictEqual(yield* settingsOf(TodoConfig.layer(absent)), defaults)
    })
  )

  it.effect("fails at start when options of unknown origin leave the choice out", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(settingsOf(TodoConfig.layerUnknown({ clearOn: "user-turn" })))
      assert.strictEqual(error._tag, "InvalidTodoConfig")
      assert.strictEqual(
        error.message,
        "todo configuration: allowParallelInProgress: expected true (several todos may be in_progress at once) or false " +
          "(at most one), got nothing; there is no default"
      )
    })
  )

  it("names each option that is wrong", () => {
    const message = problemOf({ allowParallelInProgress: "yes", clearOn: "never", maxItems: 0, maxContentLength: 1.5 })
    assert.match(message, /allowParallelInProgress: expected true .* or false .*, got "yes"/)
    assert.include(message, 'clearOn: expected "every-turn" or "user-turn", got "never"')
    assert.include(message, "maxItems: expected a whole number from 1, got the number 0")
    assert.include(message, "maxContentLength: expected a whole number from 1, got the number 1.5")
    assert.strictEqual(message.split("; ").length, 4)
    assert.notInclude(message, "\n")
  })

  it("refuses an option that does not exist, so that a misspelt one is noticed", () => {
    assert.match(problemOf({ allowParallelInProgress: true, maxItem: 5 }), /maxItem\b/)
  })

  it("refuses what are no options at all", () => {
    for (const options of [undefined, null, 5, "true", []]) {
      assert.match(problemOf(options), /^todo configuration: expected an object with allowParallelInProgress, got \S/)
    }
  })

  it.effect("reads Effect's Config, and fails typed when it lacks the choice", () =>
    Effect.gen(function* () {
      const layer = TodoConfig.layerConfig({
        allowParallelInProgress: Config.boolean("PARALLEL"),
        maxItems: Config.integer("MAX_ITEMS")
      })
      const provided = (values: Record<string, string>) =>
        settingsOf(layer).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(values)))))
      assert.deepStrictEqual(yield* provided({ PARALLEL: "true", MAX_ITEMS: "7" }), {
        ...defaults,
        allowParallelInProgress: true,
        maxItems: 7
      })
      const missing = yield* Effect.flip(provided({ MAX_ITEMS: "7" }))
      assert.match(String(missing), /PARALLEL/)
      const wrong = yield* Effect.flip(provided({ PARALLEL: "true", MAX_ITEMS: "-1" }))
      assert.match(String(wrong), /maxItems: expected a whole number from 1/)
    })
  )
})
