/**
 * What the layout checks look at and what they report. A check is a function from a file map to findings, so that it runs
 * over the repository and over samples in memory alike.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** Path from the root, with `/`, to text. */
export type FileMap = ReadonlyMap<string, string>

export interface Finding {
  readonly file: string
  readonly line: number
  /** What is wrong and what to do about it. */
  readonly message: string
}

export const finding = (file: string, line: number, message: string): Finding => ({ file, line, message })

export const render = (findings: ReadonlyArray<Finding>): string =>
  findings.map(({ file, line, message }) => `${file}:${line} ${message}`).join("\n")

/** A file map in memory. */
export const sample = (files: Readonly<Record<string, string>>): FileMap => new Map(Object.entries(files))

/** What is committed or would be: tracked files and untracked ones that are not ignored. */
export const readRepository = (root: string): FileMap => {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 26
  })
  const paths = listed.split("\0").filter((path) => path !== "" && existsSync(join(root, path)))
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]))
}

export interface Package {
  /** The folder under `packages/`. */
  readonly name: string
  readonly manifestPath: string
  readonly manifest: Manifest
}

interface Manifest {
  readonly name?: string
  readonly exports?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export const packagesOf = (files: FileMap): ReadonlyArray<Package> =>
  [...files].flatMap(([path, text]) => {
    const name = /^packages\/([^/]+)\/package\.json$/.exec(path)?.[1]
    return name === undefined ? [] : [{ name, manifestPath: path, manifest: JSON.parse(text) as Manifest }]
  })

/** The line of the first occurrence of `needle`, counted from 1; 1 when it is not there. */
export const lineOf = (text: string, needle: string): number => {
  const at = text.indexOf(needle)
  return at < 0 ? 1 : text.slice(0, at).split("\n").length
}

export interface SourcePath {
  readonly path: string
  readonly package: string
  /** From `src/`, without the ending: `SessionStore/Sqlite`. */
  readonly module: string
}

/** The TypeScript modules of the packages. */
export const sourcesOf = (files: FileMap): ReadonlyArray<SourcePath> =>
  [...files.keys()].flatMap((path) => {
    const [, name, module] = /^packages\/([^/]+)\/src\/(.+)\.ts$/.exec(path) ?? []
    return name === undefined || module === undefined ? [] : [{ path, package: name, module }]
  })
