/** What follows what in English, counted in WordNet's examples and definitions (`english/LICENSE`). */
import { readFileSync } from "node:fs"
import { brotliDecompressSync } from "node:zlib"
import type { Followers, Ngrams } from "./ngrams.ts"

const FILE = new URL("english/ngrams.txt.br", import.meta.url)

const readFollowers = (line: string): Followers => {
  const [, total, followers = ""] = line.split("\t")
  const parts = followers.split(" ")
  const counts = new Map<string, number>()
  for (let at = 0; at + 1 < parts.length; at += 2) counts.set(parts[at] ?? "", Number(parts[at + 1]))
  return { total: Number(total), counts }
}

const load = (): Ngrams => {
  const [vocabulary = "", contexts = ""] = brotliDecompressSync(readFileSync(FILE)).toString().split("\n\n")
  const words = new Map<string, number>()
  const forms = new Map<string, string>()
  let wordsTotal = 0
  for (const line of vocabulary.split("\n")) {
    const [word = "", count, form] = line.split("\t")
    words.set(word, Number(count))
    wordsTotal += Number(count)
    if (form !== undefined) forms.set(word, form)
  }
  // A line is read when its context is asked for: most never are.
  const lines = new Map(contexts.split("\n").map(line => [line.slice(0, line.indexOf("\t")), line]))
  return {
    words,
    wordsTotal,
    after(context) {
      const line = lines.get(context)
      return line === undefined ? undefined : readFollowers(line)
    },
    formOf: word => forms.get(word) ?? (words.has(word) ? word : undefined),
    initialOf: () => undefined,
  }
}

let loaded: Ngrams | undefined

export const english = (): Ngrams => {
  loaded ??= load()
  return loaded
}
