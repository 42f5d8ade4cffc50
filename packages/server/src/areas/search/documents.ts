/** From what a source holds to what is searched. */
import { createHash } from "node:crypto"
import {
  SEARCH_DOCUMENT_BYTES_MAX,
  SEARCH_DOCUMENT_ID_LENGTH_MAX,
  SEARCH_INDEXED_CHARACTERS_MAX,
  SEARCH_METADATA_BYTES_MAX,
} from "@svc/contract"
import { canonicalJson } from "../../kernel/canonical-json.ts"
import { isRawNumber } from "../../kernel/exact-json.ts"
import type { SearchDocument, Weight } from "../../ports/search/port.ts"
import type { SourceRecord } from "./store.ts"

/** One thing of a source, as it was read. */
export interface Item {
  readonly id: string
  readonly title: string
  readonly url: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly language?: string | undefined
  readonly boost?: number | undefined
  /** What the paths of the source's fields lead into. */
  readonly record: Readonly<Record<string, unknown>>
}

/** One thing of a source that could not be read, and why, for its owner to see. */
export interface Unreadable {
  readonly id: string
  readonly problem: string
}

export interface Prepared {
  readonly document: SearchDocument
  /** The same for the same document, whenever it is read. */
  readonly hash: Buffer
}

const URL_LENGTH_MAX = 2048
const TITLE_LENGTH_MAX = 500

/** PostgreSQL keeps no null character and no half of a surrogate pair; the private characters mark what was found. */
const cleaned = (text: string): string => text.toWellFormed().replaceAll(/[\0\uE000-\uE004]/g, " ")

const cleanedDeep = (value: unknown): unknown => {
  if (typeof value === "string") return cleaned(value)
  if (Array.isArray(value)) return value.map(cleanedDeep)
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [cleaned(name), cleanedDeep(inner)]))
}

const textOf = (value: unknown): string => {
  if (typeof value === "string") return cleaned(value)
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  if (isRawNumber(value)) return value.rawJSON
  if (Array.isArray(value)) return value.map(textOf).join(" ")
  return ""
}

const at = (record: unknown, path: string): unknown => {
  if (typeof record !== "object" || record === null) return undefined
  // A name may hold dots itself, as columns do.
  if (Object.hasOwn(record, path)) return (record as Record<string, unknown>)[path]
  const [name = "", ...rest] = path.split(".")
  return rest.length > 0 && Object.hasOwn(record, name)
    ? at((record as Record<string, unknown>)[name], rest.join("."))
    : undefined
}

const isWebAddress = (url: string): boolean =>
  url.length <= URL_LENGTH_MAX && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)

/** Why it cannot be indexed; undefined when it can. */
const problemOf = ({ id, url, metadata, record }: Item): string | undefined => {
  if (id === "" || id.length > SEARCH_DOCUMENT_ID_LENGTH_MAX || cleaned(id) !== id)
    return `an id has 1 to ${SEARCH_DOCUMENT_ID_LENGTH_MAX} characters`
  if (url !== null && !isWebAddress(url)) return "url is not an http or https address"
  if (Buffer.byteLength(JSON.stringify(metadata)) > SEARCH_METADATA_BYTES_MAX)
    return `metadata has more than ${SEARCH_METADATA_BYTES_MAX} bytes`
  if (Buffer.byteLength(JSON.stringify(record)) > SEARCH_DOCUMENT_BYTES_MAX)
    return `the document has more than ${SEARCH_DOCUMENT_BYTES_MAX} bytes`
  return undefined
}

/** The texts of the fields, until there are as many characters as one document may have. */
const partsOf = ({ record }: Item, fields: SourceRecord["fields"]) => {
  let left = SEARCH_INDEXED_CHARACTERS_MAX
  return fields.map(({ path, weight }) => {
    const text = textOf(at(record, path)).slice(0, left).toWellFormed()
    left -= text.length
    return { path, text, weight: weight as Weight }
  })
}

const prepared = (item: Item, source: SourceRecord, now: Date): Prepared => {
  const parts = partsOf(item, source.fields)
  const title = cleaned(item.title).slice(0, TITLE_LENGTH_MAX).toWellFormed()
  const content = {
    sourceId: source.id,
    id: item.id,
    title,
    parts: parts.map(({ text, weight }) => ({ text, weight })),
    body: parts
      .filter(({ text }) => text !== "" && text !== item.title)
      .map(({ text }) => text)
      .join("\n"),
    url: item.url,
    metadata: cleanedDeep(item.metadata) as Record<string, unknown>,
    language: item.language ?? source.language,
    boost: item.boost ?? 1,
  }
  const hash = createHash("sha256").update(canonicalJson(content)).digest()
  return { document: { ...content, updatedAt: now }, hash }
}

/** The last of several with one id counts. */
export const prepare = (
  items: readonly (Item | Unreadable)[],
  source: SourceRecord,
  now: Date,
): { documents: Prepared[]; unreadable: Unreadable[] } => {
  const documents = new Map<string, Prepared>()
  const unreadable: Unreadable[] = []
  for (const item of items) {
    const problem = "problem" in item ? item.problem : problemOf(item)
    if (problem === undefined && !("problem" in item)) documents.set(item.id, prepared(item, source, now))
    else
      unreadable.push({
        id: cleaned(item.id).slice(0, SEARCH_DOCUMENT_ID_LENGTH_MAX),
        problem: problem ?? "",
      })
  }
  return { documents: [...documents.values()], unreadable }
}
