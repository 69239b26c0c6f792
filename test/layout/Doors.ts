/**
 * Every package opens the same way: three conditions a door, internals closed, an index that only names the modules.
 */
import ts from "typescript"
import type { FileMap, Finding } from "./Repository.js"
import { finding, lineOf, packagesOf, sourcesOf } from "./Repository.js"
import { lineAt, parse } from "./Syntax.js"

export const checkDoors = (files: FileMap): ReadonlyArray<Finding> => [...manifests(files), ...indexes(files)]

const doors = {
  ".": { "@afterturn/source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" },
  "./*": { "@afterturn/source": "./src/*.ts", types: "./dist/*.d.ts", default: "./dist/*.js" },
  "./internal/*": null
}

const manifests = (files: FileMap): ReadonlyArray<Finding> =>
  packagesOf(files).flatMap(({ manifest, manifestPath, name }) => {
    const text = files.get(manifestPath) ?? ""
    const given = (manifest.exports ?? {}) as Readonly<Record<string, unknown>>
    const wrong = Object.entries(doors).filter(([door, value]) => JSON.stringify(given[door]) !== JSON.stringify(value))
    return [
      ...(manifest.name === `@afterturn/${name}`
        ? []
        : [finding(manifestPath, lineOf(text, '"name"'), `expected the name "@afterturn/${name}"`)]),
      ...wrong.map(([door, value]) =>
        finding(
          manifestPath,
          lineOf(text, `"${door}"`),
          `exports: expected "${door}": ${JSON.stringify(value)} (in this order)`
        )
      )
    ]
  })

const indexes = (files: FileMap): ReadonlyArray<Finding> =>
  packagesOf(files).flatMap(({ manifestPath, name }) => {
    const path = `packages/${name}/src/index.ts`
    const text = files.get(path)
    if (text === undefined) return [finding(manifestPath, 1, `${path} is missing: add it, with a line for each module`)]
    const named = new Set<string>()
    const findings = parse(path, text).statements.flatMap((statement) => {
      const module = moduleOf(statement)
      if (module !== undefined) named.add(module)
      return module === undefined && !isEmptyExport(statement)
        ? [
            finding(
              path,
              lineAt(statement),
              'an index holds only `export * as X from "./X.js"`: move this into a module'
            )
          ]
        : []
    })
    const missing = sourcesOf(files)
      .filter(
        (source) => source.package === name && /^[A-Z][A-Za-z0-9]*$/.test(source.module) && !named.has(source.module)
      )
      .map(({ module }) =>
        finding(path, 1, `does not name ${module}: add \`export * as ${module} from "./${module}.js"\``)
      )
    return [...findings, ...missing]
  })

/** `X` of `export * as X from "./X.js"`. */
const moduleOf = (statement: ts.Statement): string | undefined => {
  if (!ts.isExportDeclaration(statement) || statement.isTypeOnly) return undefined
  const { exportClause, moduleSpecifier } = statement
  if (exportClause === undefined || !ts.isNamespaceExport(exportClause)) return undefined
  const name = exportClause.name.text
  return moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier) && moduleSpecifier.text === `./${name}.js`
    ? name
    : undefined
}

/** `export {}`: a package without modules yet. */
const isEmptyExport = (statement: ts.Statement): boolean =>
  ts.isExportDeclaration(statement) &&
  statement.moduleSpecifier === undefined &&
  statement.exportClause !== undefined &&
  ts.isNamedExports(statement.exportClause) &&
  statement.exportClause.elements.length === 0
