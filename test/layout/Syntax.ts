/**
 * Parsed TypeScript, for checks that must not be fooled by strings and comments.
 */
import ts from "typescript"

const parsed = new Map<string, ts.SourceFile>()

export const parse = (path: string, text: string): ts.SourceFile => {
  const known = parsed.get(path)
  if (known?.text === text) return known
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true)
  parsed.set(path, source)
  return source
}

/** Every node, parents first. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node
  const children: Array<ts.Node> = []
  ts.forEachChild(node, (child) => {
    children.push(child)
  })
  for (const child of children) yield* nodesOf(child)
}

/** The line of a node's first character, counted from 1. */
export const lineAt = (node: ts.Node): number => {
  const source = node.getSourceFile()
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
}

export interface Import {
  readonly specifier: string
  readonly line: number
}

/** Whatever a module takes from another one: imports, re-exports, `import()` in values and in types, `require`. */
export const importsOf = (source: ts.SourceFile): ReadonlyArray<Import> =>
  [...nodesOf(source)].flatMap((node) => {
    const specifier = specifierOf(node)
    return specifier !== undefined && ts.isStringLiteralLike(specifier)
      ? [{ specifier: specifier.text, line: lineAt(node) }]
      : []
  })

const specifierOf = (node: ts.Node): ts.Node | undefined => {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined
  if (!ts.isCallExpression(node)) return undefined
  const callee = node.expression
  const loads = callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === "require")
  return loads ? node.arguments[0] : undefined
}

export interface Comment {
  readonly text: string
  readonly firstLine: number
  readonly lastLine: number
  /** Whether it documents a declaration for its users. */
  readonly doc: boolean
}

export const commentsOf = (source: ts.SourceFile): ReadonlyArray<Comment> => {
  const ranges = new Map<number, ts.CommentRange>()
  for (const token of tokensOf(source, source)) {
    for (const range of [
      ...(ts.getLeadingCommentRanges(source.text, token.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, token.end) ?? [])
    ]) {
      ranges.set(range.pos, range)
    }
  }
  return [...ranges.values()].map((range) => {
    const text = source.text.slice(range.pos, range.end)
    return {
      text,
      firstLine: source.getLineAndCharacterOfPosition(range.pos).line + 1,
      lastLine: source.getLineAndCharacterOfPosition(range.end).line + 1,
      doc: text.startsWith("/**")
    }
  })
}

function* tokensOf(node: ts.Node, source: ts.SourceFile): Generator<ts.Node> {
  const children = node.getChildren(source)
  if (children.length === 0) yield node
  for (const child of children) if (!ts.isJSDoc(child)) yield* tokensOf(child, source)
}

/** `a.b` for a property access on a plain name (`Effect.orDie`, `process.env`). */
export const memberOf = (node: ts.Node): { readonly object: string; readonly property: string } | undefined =>
  ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)
    ? { object: node.expression.text, property: node.name.text }
    : undefined
