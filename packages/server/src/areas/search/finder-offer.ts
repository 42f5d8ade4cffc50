/** What search does for other areas. */
import type { Db } from "../../kernel/db/database.ts"
import type { SearchHit, SearchPort, SearchResult } from "../../ports/search/port.ts"
import { callEngine } from "./call-engine.ts"
import type { IndexFinder } from "./offers.ts"
import { sourceStore } from "./store.ts"

const WORDS_MAX = 12
/** Hits that are looked at for each word. */
const HITS_A_WORD = 20

const toText = ({ sourceId, id, title, url, body = "" }: SearchHit) => ({
  sourceId,
  id,
  title,
  url,
  text: body,
})

export const createIndexFinder = (db: Db, index: SearchPort): IndexFinder => ({
  async find(projectId, given, { limit, textLength }) {
    const words = given.slice(0, WORDS_MAX).map(word => word.replaceAll(/["\s]+/g, " ").trim())
    const asked = words.filter(word => word !== "" && !word.startsWith("-"))
    if (asked.length === 0) return []
    const withoutSources = await sourceStore(db).deletedIds(projectId)
    const search = (text: string, most: number): Promise<SearchResult> =>
      callEngine(() =>
        index.search(projectId, {
          // The space says that the last word is finished.
          ...{ text: `${text} `, language: undefined, sourceId: undefined, withoutSources },
          ...{ filter: [], facets: [], facetValuesMax: 1, highlight: false },
          ...{ limit: most, offset: 0, bodyLength: textLength },
        }),
      )
    const whole = await search(asked.join(" "), limit)
    if (whole.hits.length >= limit || asked.length === 1) return whole.hits.map(toText)
    // By the words that each has; rare ones count more.
    const scored = new Map<string, { hit: SearchHit; score: number }>()
    for (const word of asked) {
      const { hits, total } = await search(word, HITS_A_WORD)
      for (const [rank, hit] of hits.entries()) {
        const place = `${hit.sourceId} ${hit.id}`
        const share = 1 / Math.log2(2 + total) + 1 / (60 + rank)
        scored.set(place, { hit, score: (scored.get(place)?.score ?? 0) + share })
      }
    }
    const first = new Set(whole.hits.map(({ sourceId, id }) => `${sourceId} ${id}`))
    const others = [...scored]
      .filter(([place]) => !first.has(place))
      .sort(([, a], [, b]) => b.score - a.score)
      .map(([, { hit }]) => hit)
    return [...whole.hits, ...others].slice(0, limit).map(toText)
  },
})
