/**
 * Names that are compared at run time: the tag of an error and the identifier of a service exist once.
 */
import ts from "typescript"
import type { FileMap, Finding } from "./Repository.js"
import { finding, sourcesOf } from "./Repository.js"
import { lineAt, memberOf, nodesOf, parse } from "./Syntax.js"

interface Named {
  readonly kind: "tag" | "identifier"
  readonly text: string
  readonly file: string
  readonly line: number
}

export const checkIdentifiers = (files: FileMap): ReadonlyArray<Finding> => {
  const names: Array<Named> = []
  const findings: Array<Finding> = []
  for (const { package: name, path } of sourcesOf(files)) {
    for (const node of nodesOf(parse(path, files.get(path) ?? ""))) {
      if (!ts.isCallExpression(node)) continue
      const tagged = taggedErrorOf(node)
      if (tagged) {
        names.push({ kind: "tag", text: tagged.tag.text, file: path, line: lineAt(tagged.tag) })
        if (tagged.tag.text !== tagged.className) {
          findings.push(
            finding(
              path,
              lineAt(tagged.tag),
              `tag "${tagged.tag.text}" of class ${tagged.className}: use the class's name`
            )
          )
        }
      }
      const identified = identifierOf(node)
      if (!identified) continue
      names.push({ kind: "identifier", text: identified.text, file: path, line: lineAt(identified) })
      const expected = `@afterturn/${name}/${declaredName(node) ?? "<Name>"}`
      const fits = expected.endsWith("<Name>")
        ? identified.text.startsWith(`@afterturn/${name}/`)
        : identified.text === expected
      if (!fits)
        findings.push(finding(path, lineAt(identified), `identifier "${identified.text}": expected "${expected}"`))
    }
  }
  return [...findings, ...duplicates(names)]
}

const duplicates = (names: ReadonlyArray<Named>): ReadonlyArray<Finding> => {
  const first = new Map<string, Named>()
  return names.flatMap((named) => {
    const key = `${named.kind} ${named.text}`
    const other = first.get(key)
    if (other === undefined) {
      first.set(key, named)
      return []
    }
    return [
      finding(
        named.file,
        named.line,
        `${named.kind} "${named.text}" is taken by ${other.file}:${other.line}: rename one`
      )
    ]
  })
}

/** `Schema.TaggedError<Self>(identifier?)("Tag", …)`, with the class it makes. */
const taggedErrorOf = (node: ts.CallExpression) => {
  const tag = node.arguments[0]
  if (!ts.isCallExpression(node.expression) || tag === undefined || !ts.isStringLiteralLike(tag)) return undefined
  const member = memberOf(node.expression.expression)
  return member?.object === "Schema" && member.property === "TaggedError"
    ? { tag, className: declaredName(node) ?? tag.text }
    : undefined
}

const identified: ReadonlyArray<readonly [object: string, property: string]> = [
  ["Schema", "TaggedError"],
  ["Context", "Tag"],
  ["Context", "Reference"],
  ["Context", "GenericTag"],
  ["Effect", "Tag"]
]

/** The identifier given to a tag or an error class. */
const identifierOf = (node: ts.CallExpression): ts.StringLiteralLike | undefined => {
  // `Context.Reference<Self>()("id", …)` has its identifier in the second call.
  const inner = ts.isCallExpression(node.expression) ? node.expression : undefined
  const reference = inner && memberOf(inner.expression)
  const member = reference?.property === "Reference" ? reference : memberOf(node.expression)
  const known = identified.some(([object, property]) => member?.object === object && member.property === property)
  const argument = node.arguments[0]
  return known && argument !== undefined && ts.isStringLiteralLike(argument) ? argument : undefined
}

/** The name of the class or the constant that a call declares. */
const declaredName = (node: ts.Node): string | undefined => {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isClassDeclaration(at)) return at.name?.text
    if (ts.isVariableDeclaration(at)) return ts.isIdentifier(at.name) ? at.name.text : undefined
    if (ts.isSourceFile(at)) return undefined
  }
  return undefined
}
