/**
 * What documents point to is there, and code that they take from an example is what that example says: examples are run.
 */
import { posix } from "node:path"
import type { FileMap, Finding } from "./Repository.js"
import { finding } from "./Repository.js"

export const checkDocuments = (files: FileMap): ReadonlyArray<Finding> =>
  [...files]
    .filter(([path]) => path.endsWith(".md"))
    .flatMap(([path, text]) => [...deadLinks(files, path, text), ...staleExcerpts(files, path, text)])

const link = /\]\(([^)\s]+)\)/g

const deadLinks = (files: FileMap, path: string, text: string): ReadonlyArray<Finding> =>
  prose(text).flatMap(({ content, line }) =>
    [...content.matchAll(link)].flatMap(([, target = ""]) => {
      const [file = ""] = target.split("#")
      if (file === "" || /^[a-z]+:/.test(file)) return []
      const meant = posix.join(posix.dirname(path), file)
      return exists(files, meant) ? [] : [finding(path, line, `links to ${target}, and there is no ${meant}`)]
    })
  )

const exists = (files: FileMap, path: string): boolean => {
  const folder = path.endsWith("/") ? path : `${path}/`
  return files.has(path) || [...files.keys()].some((file) => file.startsWith(folder))
}

/** `From [examples/x.ts](…):`, an empty line, a fence. */
const announcement = /^From \[`?(examples\/[\w./-]+)`?\]\([^)]+\)/

const staleExcerpts = (files: FileMap, path: string, text: string): ReadonlyArray<Finding> => {
  const lines = text.split("\n")
  return lines.flatMap((line, at) => {
    const example = announcement.exec(line)?.[1]
    if (example === undefined) return []
    const from = at + 3
    const until = lines.indexOf("```", from)
    if (!(lines[from - 1] ?? "").startsWith("```") || until < 0)
      return [finding(path, at + 1, "expected an empty line and a fence after it")]
    const excerpt = lines.slice(from, until).join("\n")
    return (files.get(example) ?? "").includes(excerpt)
      ? []
      : [finding(path, from + 1, `is not what ${example} says: copy it from there`)]
  })
}

/** The lines outside fences. */
const prose = (text: string): ReadonlyArray<{ readonly content: string; readonly line: number }> => {
  let fenced = false
  return text.split("\n").flatMap((content, index) => {
    if (/^\s*```/.test(content)) {
      fenced = !fenced
      return []
    }
    return fenced ? [] : [{ content: content.replaceAll(/`[^`]*`/g, "`code`"), line: index + 1 }]
  })
}
