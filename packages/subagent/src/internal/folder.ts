/**
 * The folder of a child: an absolute path, or one relative to its parent's; `undefined`: neither is known. Says what is wrong otherwise.
 */
export const folderOf = (
  parent: string | undefined,
  given: string | undefined
): { readonly cwd: string | undefined } | { readonly problem: string } => {
  if (given === undefined) return { cwd: parent }
  if (given.trim() === "" || given.includes("\0")) return { problem: "cwd is no path of a folder" }
  if (given.startsWith("/")) return { cwd: normal(given) }
  return parent === undefined
    ? { problem: "this session has no folder of its own, so cwd must be an absolute path" }
    : { cwd: normal(`${parent}/${given}`) }
}

/** Without `.`, `..` and doubled slashes. */
const normal = (path: string): string => {
  const parts: Array<string> = []
  for (const part of path.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return `/${parts.join("/")}`
}
