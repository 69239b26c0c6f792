/**
 * Which package may use which: arrows only point down this list. Capabilities do not know one another, nothing knows `cli`.
 */
import { posix } from "node:path"
import type { FileMap, Finding } from "./Repository.js"
import { finding, lineOf, packagesOf, sourcesOf } from "./Repository.js"
import { importsOf, parse } from "./Syntax.js"

/** Package to the packages that it may use; `everything` for the one place that composes. */
type Arrows = Readonly<Record<string, ReadonlyArray<string> | "everything">>

const ground = ["agent", "session-log"]
const capabilities = ["todo", "jobs", "schedule", "goals"]
const jobUsers = ["shell", "terminal", "subagent"]

const arrows: Arrows = {
  "session-log": [],
  agent: ["session-log"],
  todo: ground,
  jobs: ground,
  schedule: ground,
  goals: ground,
  shell: ["jobs", ...ground],
  terminal: ["jobs", ...ground],
  subagent: ["jobs", ...ground],
  "session-query": ground,
  cluster: [...ground, ...capabilities, ...jobUsers],
  mcp: [...ground, ...capabilities, ...jobUsers, "session-query"],
  testing: ground,
  cli: "everything"
}

export const checkArrows = (files: FileMap, allowed: Arrows = arrows): ReadonlyArray<Finding> => [
  ...unknownPackages(files, allowed),
  ...manifestArrows(files, allowed),
  ...importArrows(files, allowed)
]

const mayUse = (allowed: Arrows, from: string, to: string): boolean => {
  const list = allowed[from]
  return from === to || list === undefined || list === "everything" || list.includes(to)
}

const advice = (allowed: Arrows, from: string, to: string): string => {
  const list = allowed[from] ?? []
  const may = list === "everything" ? "everything" : list.length === 0 ? "no other package" : list.join(", ")
  return `packages/${from} may not use @afterturn/${to} (it may use ${may}): pass what is needed in through a service of a lower package, or compose in cli`
}

const unknownPackages = (files: FileMap, allowed: Arrows): ReadonlyArray<Finding> =>
  packagesOf(files)
    .filter(({ name }) => !(name in allowed))
    .map(({ manifestPath, name }) =>
      finding(manifestPath, 1, `packages/${name} has no place in the house: say in \`arrows\` what it may use`)
    )

const manifestArrows = (files: FileMap, allowed: Arrows): ReadonlyArray<Finding> =>
  packagesOf(files).flatMap(({ manifest, manifestPath, name }) =>
    Object.keys({
      ...manifest.dependencies,
      ...manifest.peerDependencies,
      ...manifest.optionalDependencies,
      ...manifest.devDependencies
    }).flatMap((dependency) => {
      const to = ownPackage(dependency)
      return to === undefined || mayUse(allowed, name, to)
        ? []
        : [finding(manifestPath, lineOf(files.get(manifestPath) ?? "", `"${dependency}"`), advice(allowed, name, to))]
    })
  )

const importArrows = (files: FileMap, allowed: Arrows): ReadonlyArray<Finding> =>
  sourcesOf(files).flatMap(({ package: from, path }) =>
    importsOf(parse(path, files.get(path) ?? "")).flatMap(({ line, specifier }) => {
      const message = specifier.startsWith(".") ? escape(from, path, specifier) : crossing(allowed, from, specifier)
      return message === undefined ? [] : [finding(path, line, message)]
    })
  )

/** What is wrong with a relative import: it leaves the package's `src`. */
const escape = (from: string, path: string, specifier: string): string | undefined => {
  const target = posix.join(posix.dirname(path), specifier)
  return target.startsWith(`packages/${from}/src/`)
    ? undefined
    : `reaches out of its package to ${target}: import @afterturn/<package>/<Module>`
}

/** What is wrong with an import of one of our packages by name. */
const crossing = (allowed: Arrows, from: string, specifier: string): string | undefined => {
  const to = ownPackage(specifier)
  if (to === undefined) return undefined
  if (to === from) return "imports its own package by name: use a relative path"
  if (specifier.includes("/internal/")) return `${specifier} is internal to @afterturn/${to}: use a public module`
  return mayUse(allowed, from, to) ? undefined : advice(allowed, from, to)
}

const ownPackage = (specifier: string): string | undefined => /^@afterturn\/([^/]+)/.exec(specifier)?.[1]
