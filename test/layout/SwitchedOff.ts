/**
 * No test is left switched off or alone. Biome sees `it.only`; this sees `it.effect.only`, `it.todo` and the like too.
 */
import ts from "typescript"
import type { FileMap, Finding } from "./Repository.js"
import { finding } from "./Repository.js"
import { lineAt, nodesOf, parse } from "./Syntax.js"

const switches = new Set(["only", "skip", "todo", "fails"])
const roots = new Set(["it", "test", "describe", "layer"])

export const checkSwitchedOff = (files: FileMap): ReadonlyArray<Finding> =>
  [...files].flatMap(([path, text]) =>
    /^test\/.+\.ts$/.test(path)
      ? [...nodesOf(parse(path, text))].flatMap((node) =>
          ts.isPropertyAccessExpression(node) && switches.has(node.name.text) && roots.has(rootOf(node))
            ? [finding(path, lineAt(node), `${node.getText()}: let it run, or delete it`)]
            : []
        )
      : []
  )

const rootOf = (node: ts.Expression): string =>
  ts.isPropertyAccessExpression(node) ? rootOf(node.expression) : ts.isIdentifier(node) ? node.text : ""
