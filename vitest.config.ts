import { defineConfig } from "vitest/config"

const conditions = ["@afterturn/source"]

// `vitest run` takes the fast tests, `vitest run --mode slow` the *.slow.test.ts ones, and *.fuzz.test.ts with many more runs.
export default defineConfig(({ mode }) => ({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: [mode === "slow" ? "test/**/*.{slow,fuzz}.test.ts" : "test/**/*.test.ts"],
    exclude: [...(mode === "slow" ? [] : ["**/*.slow.test.ts"]), "**/node_modules/**", "test/**/fixtures/**"],
    passWithNoTests: mode === "slow",
    testTimeout: mode === "slow" ? 300_000 : 20_000,
    // Processes, not threads: tests spawn children, open databases and terminals. One loads the libraries once for all of its files,
    // which is half of the work.
    pool: "forks",
    poolOptions: { forks: { isolate: false } },
    setupFiles: ["test/support/setup.ts"],
    minWorkers: 1,
    maxWorkers: 2
  }
}))
