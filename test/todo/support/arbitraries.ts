import type { TodoItem } from "@afterturn/todo/TodoItem"
import * as fc from "effect/FastCheck"

/** Lists that any policy but the one about parallel work accepts, trimmed already. */
export const todoLists: fc.Arbitrary<ReadonlyArray<TodoItem>> = fc
  .uniqueArray(fc.constantFrom(..."abcdefghijkl"), { maxLength: 6 })
  .chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fc.record({
          content: fc.constantFrom("", " ü", " 漢字", " 👩‍👧").map((tail) => name + tail),
          status: fc.constantFrom("pending" as const, "in_progress" as const, "completed" as const)
        })
      )
    )
  )
