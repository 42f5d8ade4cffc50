/** Which words of a question name tables, columns, keys, flags and stored values. */
import type { Catalog, Column, ForeignKey, Table } from "./catalog.ts"
import { distance } from "./graph.ts"
import { canonicalOf, isSilent, partsOf, singularOf, stemOf, type Token } from "./words.ts"

export type Meaning =
  | { readonly kind: "table"; readonly table: Table }
  | { readonly kind: "column"; readonly table: Table; readonly column: Column }
  /** A key's column named after what it points to: `manager_id` is the manager. */
  | { readonly kind: "role"; readonly table: Table; readonly column: Column; readonly key: ForeignKey }
  | { readonly kind: "flag"; readonly table: Table; readonly column: Column; readonly truth: boolean }

export interface Entry {
  readonly meaning: Meaning
  /** 1: the very name; less for stems, synonyms, and parts of a name. */
  readonly score: number
}

interface Phrase {
  readonly words: readonly string[]
  readonly weight: number
  readonly meaning: Meaning
}

export interface Lexicon {
  /** The longest run of tokens from `at` that names something, with all it may name, best first. */
  find(
    tokens: readonly Token[],
    at: number,
  ): { readonly length: number; readonly entries: readonly Entry[] } | undefined
}

/** `weight_kg` is the weight. */
const UNIT =
  /^(?:kg|g|km|m|m2|m3|cm|mm|eur|usd|gbp|cents|pct|percent|ms|s|seconds|minutes|hours|days|bytes|kb|mb|gb|celsius)$/

const WORDS_MAX = 4
const noise = new Set(["id", "at", "on", "is", "has", "fk", "the", "of", "ts", "utc"])

const aliasesIn = (comment: string | null): string[][] =>
  (comment ?? "")
    .slice(0, 120)
    .split(/[,;|/().:]/)
    .map(part => part.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
    .filter(words => words.length > 0 && words.length <= 2)

/** A table `shop_orders` beside `shop_items` is called orders: what all names begin with says nothing. */
const commonPrefix = (tables: readonly Table[]): string | undefined => {
  const first = tables[0] && partsOf(tables[0].name)[0]
  const shared =
    tables.length > 2 && tables.every(({ name }) => partsOf(name)[0] === first && partsOf(name).length > 1)
  return shared ? first : undefined
}

const phrasesOfTable = (table: Table, prefix: string | undefined): Phrase[] => {
  const words = partsOf(table.name).filter(word => word !== prefix)
  const meaning: Meaning = { kind: "table", table }
  return [
    { words, weight: 1, meaning },
    ...(words.length > 1 ? [{ words: words.slice(-1), weight: 0.6, meaning }] : []),
    ...aliasesIn(table.comment).map(alias => ({ words: alias, weight: 0.7, meaning })),
  ]
}

const flagPhrases = (table: Table, column: Column, words: readonly string[]): Phrase[] => {
  const flag = (truth: boolean): Meaning => ({ kind: "flag", table, column, truth })
  const opposites = words.flatMap(word => [`in${word}`, `un${word}`, `non${word}`])
  return [
    { words, weight: 1, meaning: flag(true) },
    ...(words.length === 1
      ? opposites.map(word => ({ words: [word], weight: 0.95, meaning: flag(false) }))
      : []),
  ]
}

const phrasesOfColumn = (catalog: Catalog, table: Table, column: Column): Phrase[] => {
  const meaning: Meaning = { kind: "column", table, column }
  const all = partsOf(column.name)
  const core = all.filter(word => !noise.has(word))
  if (core.length === 0) return [{ words: all, weight: 1, meaning }]
  const own = singularOf(partsOf(table.name).at(-1) ?? "")
  const phrases: Phrase[] = aliasesIn(column.comment).map(words => ({ words, weight: 0.7, meaning }))
  if (column.category === "boolean") return [...phrases, ...flagPhrases(table, column, core)]
  const key = catalog.keys.find(
    each => each.from === table.index && each.columns.length === 1 && each.columns[0] === column.name,
  )
  if (key) {
    phrases.push({ words: all, weight: 1, meaning })
    phrases.push({ words: core, weight: 0.85, meaning: { kind: "role", table, column, key } })
    return phrases
  }
  phrases.push({ words: all, weight: 1, meaning })
  // `employee_id` is not what `more than 4 employees` compares.
  if (table.primaryKey.includes(column.name) && column.category === "number") return phrases
  if (core.length !== all.length) phrases.push({ words: core, weight: 0.95, meaning })
  if (core.length > 1 && core[0] === own) phrases.push({ words: core.slice(1), weight: 0.95, meaning })
  if (core.length > 1 && column.category !== "date")
    phrases.push({ words: core.slice(-1), weight: 0.7, meaning })
  if (core.length > 1 && UNIT.test(core.at(-1) ?? ""))
    phrases.push({ words: core.slice(0, -1), weight: 0.95, meaning })
  const year = column.category === "number" && core.at(-1) === "year"
  if (year && core.length > 1) phrases.push({ words: core.slice(0, -1), weight: 0.9, meaning })
  if (column.category === "date" && core.length > 1 && /^(date|time|day|timestamp)$/.test(core.at(-1) ?? ""))
    phrases.push({ words: core.slice(0, -1), weight: 0.9, meaning })
  return phrases
}

const keyOf = (words: readonly string[]): string => words.map(canonicalOf).join(" ")

const closeness = (words: readonly string[], tokens: readonly Token[]): number => {
  const each = words.map((word, index) => {
    const token = tokens[index]
    if (!token) return 0
    if (token.singular === singularOf(word)) return 1
    // `of` is not the stem of `off`.
    if (isSilent(token)) return 0
    return token.stem === stemOf(word) ? 0.9 : 0.75
  })
  return Math.min(...each)
}

export const createLexicon = (catalog: Catalog): Lexicon => {
  const prefix = commonPrefix(catalog.tables)
  const phrases = catalog.tables.flatMap(table => [
    ...phrasesOfTable(table, prefix),
    ...table.columns.flatMap(column => phrasesOfColumn(catalog, table, column)),
  ])
  const index = Map.groupBy(phrases, ({ words }) => keyOf(words))
  const match = (tokens: readonly Token[]): Entry[] => {
    const found = index.get(tokens.map(({ canonical }) => canonical).join(" ")) ?? []
    return found
      .map(({ words, weight, meaning }) => ({ meaning, score: weight * closeness(words, tokens) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
  }
  const find: Lexicon["find"] = (tokens, at) => {
    for (let length = Math.min(WORDS_MAX, tokens.length - at); length > 0; length--) {
      const run = tokens.slice(at, at + length)
      if (run.some(({ kind }) => kind !== "word")) continue
      // `date of birth` is the birth date.
      const turned = length === 3 && run[1]?.text === "of" ? [run[2], run[0]] : []
      const known = turned.filter(each => each !== undefined)
      const entries = [...match(run), ...(known.length === 2 ? match(known) : [])]
      if (entries.length > 0) return { length, entries }
    }
    return undefined
  }
  return { find }
}

/** Of the tables of a large schema that all have a column `status`, those nearest to the question are enough. */
const ENTRIES_MAX = 24

/** A lexicon that answers each place of one question once, with the entries that are nearest to the mentioned tables. */
export const focus = (
  lexicon: Lexicon,
  catalog: Catalog,
  tokens: readonly Token[],
  mentioned: ReadonlySet<number>,
): Lexicon => {
  const near = (table: number) => Math.min(9, ...[...mentioned].map(each => distance(catalog, each, table)))
  const trim = (entries: readonly Entry[]): readonly Entry[] => {
    if (entries.length <= ENTRIES_MAX) return entries
    const weighed = entries.map(entry => ({ entry, far: near(entry.meaning.table.index) - 4 * entry.score }))
    return weighed
      .sort((a, b) => a.far - b.far)
      .slice(0, ENTRIES_MAX)
      .map(({ entry }) => entry)
      .sort((a, b) => b.score - a.score)
  }
  const found = tokens.map((_, at) => {
    const all = lexicon.find(tokens, at)
    return all && { length: all.length, entries: trim(all.entries) }
  })
  return { find: (_, at) => found[at] }
}
