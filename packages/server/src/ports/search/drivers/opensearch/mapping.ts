/** How documents are kept in OpenSearch. */
import { createHash } from "node:crypto"
import { toDoubles } from "../../../../kernel/exact-json.ts"
import type { SearchDocument } from "../../port.ts"

/** OpenSearch's built-in language analyzers that have a configuration of the same name in PostgreSQL. */
export const LANGUAGES: readonly string[] = [
  ...["arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german"],
  ...["greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "norwegian"],
  ...["portuguese", "romanian", "russian", "spanish", "swedish", "turkish"],
]

const PLAIN = "standard"
const known = new Set(LANGUAGES)

/** Of the fields that hold a document's parts: `w4_english`, `w1_standard`. */
export const analyzerOf = (language: string): string => (known.has(language) ? language : PLAIN)

const keyword = { type: "keyword" }
const kept = { type: "keyword", index: false, doc_values: false }

/** Parts have a field for each weight and language; metadata is flattened to facts, so that no document adds fields. */
export const MAPPING = {
  settings: { index: { "mapping.nested_objects.limit": 20_000 } },
  mappings: {
    dynamic: "false",
    properties: {
      ...{ owner: keyword, source: keyword, id: keyword, analyzer: keyword, title: kept, url: kept },
      body: { type: "text", index: false },
      metadata: { type: "object", enabled: false },
      updated_at: { type: "date" },
      boost: { type: "float" },
      words: { type: "text", analyzer: PLAIN, fielddata: true },
      facts: {
        type: "nested",
        properties: { path: keyword, text: keyword, number: { type: "double" }, flag: { type: "boolean" } },
      },
      ...Object.fromEntries(
        [...LANGUAGES, PLAIN].flatMap(analyzer =>
          [1, 2, 3, 4].map(weight => [`w${weight}_${analyzer}`, { type: "text", analyzer }]),
        ),
      ),
    },
  },
} as const

export interface MetadataField {
  readonly path: string
  readonly text?: string
  readonly number?: number
  readonly flag?: boolean
}

/** No longer text is compared or counted; Lucene's longest term has 32,766 bytes. */
const FACT_LENGTH_MAX = 8_000
export const pathName = (path: readonly string[]): string => JSON.stringify(path)

const factsOf = (value: unknown, path: readonly string[]): MetadataField[] => {
  const name = pathName(path)
  if (typeof value === "string") return value.length > FACT_LENGTH_MAX ? [] : [{ path: name, text: value }]
  if (typeof value === "number") return [{ path: name, number: value }]
  if (typeof value === "boolean") return [{ path: name, flag: value }]
  if (Array.isArray(value)) return value.flatMap(one => (typeof one === "object" ? [] : factsOf(one, path)))
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => factsOf(inner, [...path, name]))
}

const distinct = (facts: readonly MetadataField[]): MetadataField[] => [
  ...new Map(facts.map(fact => [JSON.stringify(fact), fact])).values(),
]

export const documentId = (owner: string, sourceId: string, id: string): string =>
  createHash("sha256")
    .update(JSON.stringify([owner, sourceId, id]))
    .digest("hex")

export const toStored = (owner: string, document: SearchDocument) => {
  const analyzer = analyzerOf(document.language)
  const weights = [...new Set(document.parts.map(({ weight }) => weight))]
  return {
    ...{ owner, source: document.sourceId, id: document.id, title: document.title, url: document.url },
    analyzer,
    ...{ body: document.body, metadata: document.metadata, boost: document.boost },
    updated_at: document.updatedAt.toISOString(),
    words: `${document.title} ${document.body}`,
    facts: distinct(factsOf(toDoubles(document.metadata), [])),
    ...Object.fromEntries(
      weights.map(weight => [
        `w${weight}_${analyzer}`,
        document.parts.filter(part => part.weight === weight).map(({ text }) => text),
      ]),
    ),
  }
}
