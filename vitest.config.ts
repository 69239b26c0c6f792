import { defineConfig } from "vitest/config"

const conditions = ["@afterturn/source"]

// `vitest run` takes the fast tests, `vitest run --mode slow` the *.slow.test.ts ones.
export default defineConfig(({ mode }) => ({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: [mode === "slow" ? "test/**/*.slow.test.ts" : "test/**/*.test.ts"],
    exclude: [...(mode === "slow" ? [] : ["**/*.slow.test.ts"]), "**/node_modules/**", "test/**/fixtures/**"],
    passWithNoTests: mode === "slow",
    testTimeout: mode === "slow" ? 300_000 : 20_000,
    // A process a file: tests spawn children, open databases and terminals, which threads would share.
    pool: "forks",
    minWorkers: 1,
    maxWorkers: 2
  }
}))
