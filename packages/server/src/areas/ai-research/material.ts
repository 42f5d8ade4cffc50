/** What research reads: sources with their passages. All of it is untrusted text. */
import type { ResearchSourceName } from "@svc/contract"

export interface Material {
  /** The same wherever the same document or page is found. */
  readonly key: string
  readonly type: ResearchSourceName
  readonly title: string
  readonly url: string | null
  readonly documentId: string | null
  readonly snippet: string
  /** From 0 to 1, by its ranks. */
  readonly score: number
  /** Empty for pages of the web that were not fetched. */
  readonly passages: readonly string[]
}

/** What one kind of source found, the best first. */
export type Found = Omit<Material, "score">

export const TITLE_LENGTH_MAX = 300
export const SNIPPET_LENGTH_MAX = 400
export const PASSAGE_LENGTH_MAX = 1_200
const URL_LENGTH_MAX = 2_048

/** PostgreSQL's JSON holds neither null characters nor halves of surrogate pairs. */
export const clean = (text: string): string => text.replaceAll("\0", " ").toWellFormed()

const oneLine = (text: string): string => clean(text).replaceAll(/\s+/g, " ").trim()

export const titleOf = (text: string): string => oneLine(text).slice(0, TITLE_LENGTH_MAX).toWellFormed()

export const snippetOf = (text: string): string => {
  const line = oneLine(text)
  return line.length <= SNIPPET_LENGTH_MAX ? line : `${line.slice(0, SNIPPET_LENGTH_MAX).toWellFormed()}…`
}

/** The address of a page, without what does not change it; undefined where it is none of the web. */
export const pageUrl = (text: string): string | undefined => {
  if (text.length > URL_LENGTH_MAX || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined
  url.hash = ""
  return url.href
}

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" })

export const sentencesOf = (text: string): string[] =>
  Array.from(segmenter.segment(text), ({ segment }) => segment.replaceAll(/\s+/g, " ").trim()).filter(
    sentence => sentence !== "",
  )

/** Paragraphs and whole sentences, as many as fit together. */
export const passagesOf = (text: string): string[] => {
  const passages: string[] = []
  let passage = ""
  const end = () => {
    if (passage.trim() !== "") passages.push(passage.trim())
    passage = ""
  }
  for (const paragraph of clean(text).split(/\n\s*\n/)) {
    for (const { segment } of segmenter.segment(paragraph)) {
      if (passage.length + segment.length > PASSAGE_LENGTH_MAX) end()
      passage += segment.slice(0, PASSAGE_LENGTH_MAX).toWellFormed()
    }
    passage += "\n\n"
  }
  end()
  return passages
}

/** As usual for reciprocal rank fusion. */
const FUSION_K = 60

/** One order of all: what several kinds of source found adds up. */
export const fuse = (lists: readonly (readonly Found[])[]): Material[] => {
  const byPlace = new Map<string, Material>()
  const best = lists.length / (FUSION_K + 1) || 1
  for (const list of lists)
    for (const [rank, found] of list.entries()) {
      const place = (found.url !== null && pageUrl(found.url)) || found.key
      const known = byPlace.get(place)
      const share = 1 / (FUSION_K + rank + 1) / best
      // The project's own copy of a page has its text already.
      byPlace.set(place, { ...(known ?? found), score: Math.min(1, (known?.score ?? 0) + share) })
    }
  return [...byPlace.values()].sort((a, b) => b.score - a.score)
}
