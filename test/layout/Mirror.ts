/**
 * `test/` mirrors `packages/`: from a module to its test and back without searching.
 */
import ts from "typescript"
import type { FileMap, Finding } from "./Repository.js"
import { finding, packagesOf, sourcesOf } from "./Repository.js"
import { nodesOf, parse } from "./Syntax.js"

/** Folders of `test/` that belong to no package. */
const besides = new Set(["support", "layout", "examples"])

/** Public modules that need no test file of their own, each with the reason. */
export type Untested = Readonly<Record<string, string>>

export const checkMirror = (files: FileMap, untested: Untested): ReadonlyArray<Finding> => [
  ...strayTests(files),
  ...untestedPackages(files),
  ...untestedModules(files, untested)
]

interface TestPath {
  readonly path: string
  readonly package: string
  /** The module that it tests: what stands before the first dot, so that `Jobs.restart.test.ts` tests `Jobs`. */
  readonly module: string
}

const testsOf = (files: FileMap): ReadonlyArray<TestPath> =>
  [...files.keys()].flatMap((path) => {
    const [, name, folder, base] = /^test\/([^/]+)\/((?:[^/]+\/)*)([^/.]+)(?:\.[^/]+)?\.test\.ts$/.exec(path) ?? []
    if (name === undefined || besides.has(name)) return []
    return folder?.startsWith("fixtures/") ? [] : [{ path, package: name, module: `${folder}${base}` }]
  })

const strayTests = (files: FileMap): ReadonlyArray<Finding> =>
  testsOf(files).flatMap((test) => {
    const source = `packages/${test.package}/src/${test.module}.ts`
    return files.has(source)
      ? []
      : [finding(test.path, 1, `tests no module: ${source} does not exist; name the test after the module it tests`)]
  })

const untestedPackages = (files: FileMap): ReadonlyArray<Finding> => {
  const tested = new Set(testsOf(files).map((test) => test.package))
  const grown = new Set(sourcesOf(files).flatMap((source) => (source.module === "index" ? [] : [source.package])))
  return packagesOf(files)
    .filter(({ name }) => grown.has(name) && !tested.has(name))
    .map(({ manifestPath, name }) => finding(manifestPath, 1, `has no test: add test/${name}/<Module>.test.ts`))
}

const untestedModules = (files: FileMap, untested: Untested): ReadonlyArray<Finding> => {
  const tested = new Set(testsOf(files).map((test) => `packages/${test.package}/src/${test.module}.ts`))
  const missing = sourcesOf(files).flatMap(({ module, package: name, path }) => {
    const open = module !== "index" && !module.startsWith("internal/")
    if (!open || tested.has(path) || path in untested || !hasBehaviour(path, files.get(path) ?? "")) return []
    return [
      finding(path, 1, `has no test: add test/${name}/${module}.test.ts, or name it, with a reason, in \`untested\``)
    ]
  })
  const stale = Object.keys(untested)
    .filter((path) => !files.has(path) || tested.has(path))
    .map((path) => finding(path, 1, "is named in `untested` and does not need it: remove the entry"))
  return [...missing, ...stale]
}

/** Whether a module does more than declare: a body to run, apart from the `message` of an error. */
const hasBehaviour = (path: string, text: string): boolean =>
  [...nodesOf(parse(path, text))].some(
    (node) =>
      (ts.isArrowFunction(node) ||
        ts.isFunctionExpression(node) ||
        ts.isFunctionDeclaration(node) ||
        ts.isMethodDeclaration(node)) &&
      node.body !== undefined
  )
