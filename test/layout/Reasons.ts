/**
 * What may lose an error or deceive the compiler says, in a comment beside it, what is lost or why it holds.
 */
import ts from "typescript"
import type { FileMap, Finding } from "./Repository.js"
import { finding, sourcesOf } from "./Repository.js"
import type { Comment } from "./Syntax.js"
import { commentsOf, lineAt, memberOf, nodesOf, parse } from "./Syntax.js"

export const checkReasons = (files: FileMap): ReadonlyArray<Finding> =>
  sourcesOf(files).flatMap(({ path }) => {
    const source = parse(path, files.get(path) ?? "")
    const comments = commentsOf(source)
    // A doc comment speaks to callers; it is no reason for a line of the body.
    const reasoned = new Set(
      comments
        .filter((comment) => !comment.doc && !isDirective(comment))
        .flatMap((c) => [c.firstLine, c.lastLine, c.lastLine + 1])
    )
    const uses = [...[...nodesOf(source)].flatMap(useOf), ...comments.flatMap(directiveOf)]
    return uses
      .filter(({ line }) => !reasoned.has(line))
      .map(({ line, use }) =>
        finding(path, line, `${use} without a reason: say on the line before what is lost, or why it holds`)
      )
  })

interface Use {
  readonly use: string
  readonly line: number
}

const lossy = new Set(["orDie", "orDieWith", "catchAllCause"])

const useOf = (node: ts.Node): ReadonlyArray<Use> => {
  if (ts.isAsExpression(node)) {
    if (node.type.kind === ts.SyntaxKind.AnyKeyword) return [{ use: "as any", line: lineAt(node.type) }]
    const inner = node.expression
    const twice = ts.isAsExpression(inner) && inner.type.kind === ts.SyntaxKind.UnknownKeyword
    return twice ? [{ use: "as unknown as", line: lineAt(inner.type) }] : []
  }
  if (!ts.isPropertyAccessExpression(node)) return []
  const { text } = node.name
  const ignores = memberOf(node)?.object === "Effect" && (text === "ignore" || text === "ignoreLogged")
  return lossy.has(text) || ignores ? [{ use: node.getText(), line: lineAt(node.name) }] : []
}

const directive = /^\/[/*]\s*(@ts-(?:expect-error|ignore|nocheck))\b:?(.*)/s

/** A directive that explains itself is its own reason. */
const isDirective = ({ text }: Comment): boolean => {
  const match = directive.exec(text)
  return match !== null && (match[2] ?? "").replaceAll(/[\s:*/-]/g, "") === ""
}

const directiveOf = (comment: Comment): ReadonlyArray<Use> =>
  isDirective(comment)
    ? [{ use: directive.exec(comment.text)?.[1] ?? "@ts-expect-error", line: comment.firstLine }]
    : []
