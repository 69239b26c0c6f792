import { defineConfig } from "vitest/config"

const conditions = ["@afterturn/source"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["**/*.slow.test.ts", "**/node_modules/**"],
    testTimeout: 20_000
  }
})
