/**
 * Calls that take time, randomness, the environment or a fiber from outside the program's own layers.
 */
import ts from "typescript"
import type { FileMap, Finding } from "./Repository.js"
import { finding, sourcesOf } from "./Repository.js"
import { commentsOf, lineAt, memberOf, nodesOf, parse } from "./Syntax.js"

/** A use that stays, with the reason. `use` is the name as the finding prints it. */
export interface Allowed {
  readonly file: string
  readonly use: string
  readonly why: string
}

const members: Readonly<Record<string, string>> = {
  "Date.now": "Clock.currentTimeMillis",
  "performance.now": "Clock.currentTimeNanos",
  "process.hrtime": "Clock.currentTimeNanos",
  "Math.random": "Random",
  "process.env": "Config, or a typed options value",
  "Effect.Service": "a Context.Tag class with layers beside it"
}

const globals: Readonly<Record<string, string>> = {
  setTimeout: "Effect.sleep or a Schedule",
  setInterval: "Effect.repeat with a Schedule",
  randomUUID: "Random, or an id service",
  forkDaemon: "Effect.forkIn a Scope, a FiberMap or a FiberSet: every fiber has an owner"
}

const runs = ["runFork", "runPromise", "runPromiseExit", "runSync", "runSyncExit", "runCallback"]

const timers = new Set(["node:timers", "timers", "node:timers/promises", "timers/promises"])

export const checkForbidden = (files: FileMap, allowed: ReadonlyArray<Allowed>): ReadonlyArray<Finding> => {
  const used = new Set<Allowed>()
  const findings = sourcesOf(files).flatMap(({ package: name, path }) =>
    usesOf(parse(path, files.get(path) ?? ""), name).flatMap(({ instead, line, use }) => {
      const reason = allowed.find((entry) => entry.file === path && entry.use === use)
      if (reason) used.add(reason)
      return reason ? [] : [finding(path, line, `${use} is not for packages/${name}/src: use ${instead}`)]
    })
  )
  const stale = allowed
    .filter((entry) => !used.has(entry))
    .map((entry) => finding(entry.file, 1, `${entry.use} is named in \`allowed\` and not used: remove the entry`))
  return [...findings, ...stale]
}

interface Use {
  readonly use: string
  readonly instead: string
  readonly line: number
}

const usesOf = (source: ts.SourceFile, packageName: string): ReadonlyArray<Use> => {
  const composes = packageName === "cli"
  const commented = composes ? linesWithComment(source) : new Set<number>()
  return [...nodesOf(source)].flatMap((node) => {
    const found = useOf(node, composes)
    if (found === undefined) return []
    const line = lineAt(node)
    const excused = found.use === "process.env" && commented.has(line)
    return excused ? [] : [{ ...found, line }]
  })
}

const linesWithComment = (source: ts.SourceFile): ReadonlySet<number> =>
  new Set(commentsOf(source).flatMap(({ firstLine, lastLine }) => [firstLine, lastLine, lastLine + 1]))

const useOf = (node: ts.Node, composes: boolean): Omit<Use, "line"> | undefined => {
  const member = memberOf(node) ?? globalMemberOf(node)
  if (member) {
    const use = `${member.object}.${member.property}`
    const instead = members[use]
    if (instead !== undefined)
      return { use, instead: composes && use === "process.env" ? `${instead}, or say why in a comment` : instead }
  }
  if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
    const bare = ts.isIdentifier(node.expression) && node.expression.text === "Date" && !node.arguments?.length
    if (bare) return { use: ts.isNewExpression(node) ? "new Date()" : "Date()", instead: "Clock or DateTime.now" }
  }
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    const from = node.moduleSpecifier.text
    if (timers.has(from)) return { use: from, instead: "Effect.sleep or a Schedule" }
  }
  if (!ts.isIdentifier(node) || isDeclaredName(node)) return undefined
  const instead = Object.hasOwn(globals, node.text) ? globals[node.text] : undefined
  if (instead !== undefined) return { use: node.text, instead }
  return !composes && runs.includes(node.text)
    ? { use: node.text, instead: "the caller's runtime: return the effect, or fork it in a Scope" }
    : undefined
}

/** `globalThis.process.env` and `globalThis.Date.now` as `process.env` and `Date.now`. */
const globalMemberOf = (node: ts.Node) => {
  if (!ts.isPropertyAccessExpression(node)) return undefined
  const outer = memberOf(node.expression)
  return outer?.object === "globalThis" ? { object: outer.property, property: node.name.text } : undefined
}

/** A name that is declared here (a field, a parameter of a signature, an option) is not the global of that name. */
const isDeclaredName = (node: ts.Identifier): boolean => {
  const parent = node.parent
  return (
    (ts.isPropertySignature(parent) || ts.isMethodSignature(parent) || ts.isPropertyAssignment(parent)) &&
    parent.name === node
  )
}
