import { fileURLToPath } from "node:url"

/** Where the peers are installed. */
export const peersFolder = process.env.AFTERTURN_BENCH_PEERS ?? fileURLToPath(new URL("../dist/peers", import.meta.url))
