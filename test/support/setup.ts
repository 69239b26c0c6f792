/**
 * Runs before each test file. Files of a worker share their modules, and `layer` of `@effect/vitest` leaves the methods of its own block
 * on the one `it` there is: without this the next file would run in the services of the last one, its clock among them.
 */
import { it } from "@effect/vitest"

const { effect, live, scoped, scopedLive } = it
const kept: unique symbol = Symbol.for("afterturn/test/it")

const shared = globalThis as { [kept]?: object }
shared[kept] ??= { effect, live, scoped, scopedLive }
Object.assign(it, shared[kept])
