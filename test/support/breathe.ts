import { setImmediate } from "node:timers/promises"

/** Lets the process hear of the world: the test runner takes a worker that answers nothing for a minute for lost. */
export const breathe = (): Promise<void> => setImmediate()
