/**
 * A package is named in four places that no tool keeps in step: its manifest, its tsconfig, the build's list and the
 * root's dependencies.
 */
import type { FileMap, Finding } from "./Repository.js"
import { finding, packagesOf } from "./Repository.js"

export const checkWiring = (files: FileMap): ReadonlyArray<Finding> => {
  const packages = packagesOf(files)
  const build = "packages/tsconfig.json"
  return [
    ...packages.flatMap(({ manifest, name }) => {
      const used = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
      const expected = used.flatMap((dependency) =>
        dependency.startsWith("@afterturn/") ? [dependency.replace("@afterturn/", "../")] : []
      )
      return compare(`packages/${name}/tsconfig.json`, referencesOf(files, `packages/${name}/tsconfig.json`), expected)
    }),
    ...compare(
      build,
      referencesOf(files, build),
      packages.map(({ name }) => name)
    ),
    ...packages.flatMap(({ manifest, manifestPath }) => exactPeers(manifestPath, manifest.peerDependencies ?? {})),
    ...rootDependencies(
      files,
      packages.map(({ name }) => name)
    )
  ]
}

const referencesOf = (files: FileMap, path: string): ReadonlyArray<string> => {
  const text = files.get(path)
  if (text === undefined) return []
  const { references = [] } = JSON.parse(text) as { readonly references?: ReadonlyArray<{ readonly path: string }> }
  return references.map((reference) => reference.path)
}

const compare = (
  file: string,
  given: ReadonlyArray<string>,
  expected: ReadonlyArray<string>
): ReadonlyArray<Finding> => [
  ...expected
    .filter((path) => !given.includes(path))
    .map((path) => finding(file, 1, `references: add { "path": "${path}" }`)),
  ...given
    .filter((path) => !expected.includes(path))
    .map((path) => finding(file, 1, `references: remove { "path": "${path}" }, no manifest names it`))
]

// Tests, examples and benches import packages by name, from the root.
const rootDependencies = (files: FileMap, names: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  const root = JSON.parse(files.get("package.json") ?? "{}") as { readonly devDependencies?: Record<string, string> }
  return names
    .filter((name) => root.devDependencies?.[`@afterturn/${name}`] !== "workspace:*")
    .map((name) => finding("package.json", 1, `devDependencies: add "@afterturn/${name}": "workspace:*"`))
}

// An exact version would bring a second Effect into the program of whoever has a newer one.
const exactPeers = (path: string, peers: Readonly<Record<string, string>>): ReadonlyArray<Finding> =>
  Object.entries(peers)
    .filter(([, version]) => version !== "catalog:peers")
    .map(([name]) => finding(path, 1, `peerDependencies: expected "${name}": "catalog:peers"`))
