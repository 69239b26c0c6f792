/**
 * A reader sees the whole house at once: the top level holds these and nothing else.
 */
import type { FileMap, Finding } from "./Repository.js"
import { finding } from "./Repository.js"

const required = [
  "packages/",
  "test/",
  "examples/",
  "bench/",
  "docs/",
  ".ci/",
  "package.json",
  "pnpm-workspace.yaml",
  "pnpm-lock.yaml",
  "tsconfig.json",
  "vitest.config.ts",
  "README.md",
  "LICENSE",
  "AGENTS.md",
  "CHANGELOG.md"
]

const optional = [
  ".biome.jsonc",
  ".changeset/",
  ".editorconfig",
  ".gitattributes",
  ".github/",
  ".gitignore",
  ".knip.json",
  ".node-version",
  ".npmrc",
  ".vscode/"
]

const topOf = (path: string): string => (path.includes("/") ? path.slice(0, path.indexOf("/") + 1) : path)

export const checkTopLevel = (files: FileMap): ReadonlyArray<Finding> => {
  const present = new Set([...files.keys()].map(topOf))
  const allowed = new Set([...required, ...optional])
  return [
    ...[...present]
      .filter((entry) => !allowed.has(entry))
      .map((entry) =>
        finding(entry, 1, "is not part of the top level: move it into packages/, test/, examples/, bench/ or docs/")
      ),
    ...required
      .filter((entry) => !present.has(entry))
      .map((entry) => finding(entry, 1, "is missing from the top level: add it"))
  ]
}
