/**
 * The project speaks of itself, not of the place it was made in.
 */
import type { FileMap, Finding } from "./Repository.js"
import { finding } from "./Repository.js"

const words: ReadonlyArray<RegExp> = [
  /\/work\//,
  /(?<![\w-])shared\//,
  /(?<![\w-])seeds\//,
  /\bissue #/i,
  /\/tmp\/brief/
]

/** This check names the words; CI may look for a neighbour of the checkout. */
const exempt = new Set([".ci/run", "test/layout/Words.ts", "test/layout/Words.test.ts"])

export const checkWords = (files: FileMap): ReadonlyArray<Finding> =>
  [...files]
    .filter(([path]) => !exempt.has(path))
    .flatMap(([path, text]) =>
      text.split("\n").flatMap((line, index) => {
        const word = words.map((pattern) => pattern.exec(line)?.[0]).find((match) => match !== undefined)
        return word === undefined
          ? []
          : [finding(path, index + 1, `"${word}" is a word of the workplace: say it without, or choose another path`)]
      })
    )
