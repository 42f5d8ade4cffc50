/** Looks for a question in the index, in documents and on the web, and makes one list of what was found. */
import { RESEARCH_SOURCES, type ResearchSourceName } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { type Offer, provided } from "../../kernel/offer.ts"
import type { PassageFinder } from "../ai-rag/offers.ts"
import type { IndexFinder } from "../search/offers.ts"
import { clean, type Found, fuse, type Material, passagesOf, snippetOf, titleOf } from "./material.ts"
import type { FetchPages } from "./pages.ts"
import { type SearchWeb, SourceProblem } from "./searxng.ts"
import { topicOf } from "./words.ts"

/** Documents of each kind that are looked at. */
const EACH_MAX = 20
const INDEX_TEXT_LENGTH = 20_000

export interface Question {
  readonly projectId: string
  readonly query: string
  readonly scope: readonly ResearchSourceName[]
  readonly language: string | undefined
  readonly signal: AbortSignal
}

export interface Gathered {
  readonly materials: readonly Material[]
  readonly warnings: readonly string[]
}

export interface Gathering {
  /** Throws `service_unavailable` where no kind of source answers. Pages of the web are not fetched. */
  search(question: Question): Promise<Gathered>
  /** The same, with the text of all: at most `most`, without pages that cannot be read. */
  read(question: Question, most: number): Promise<Gathered>
  /** Why this kind cannot be asked; undefined where it can. */
  problemOf(name: ResearchSourceName): string | undefined
}

export interface GatherNeeds {
  readonly index: Offer<IndexFinder>
  readonly passages: Offer<PassageFinder>
  /** Undefined where the operator names no server. */
  readonly web: SearchWeb | undefined
  readonly fetchPages: FetchPages
}

const NO_WEB = "set SVC_SEARXNG_URL to a SearXNG server that answers JSON"

export const createGathering = ({ index, passages, web, fetchPages }: GatherNeeds): Gathering => {
  const look: Readonly<Record<ResearchSourceName, (question: Question) => Promise<readonly Found[]>>> = {
    async search({ projectId, query }) {
      const options = { limit: EACH_MAX, textLength: INDEX_TEXT_LENGTH }
      const found = await (await provided(index)).find(projectId, topicOf(query), options)
      return found.map(({ sourceId, id, title, url, text }) => ({
        ...{ key: `search:${sourceId}:${clean(id)}`, type: "search", url, documentId: clean(id) },
        title: titleOf(title) || titleOf(id),
        snippet: snippetOf(text),
        passages: passagesOf(text),
      }))
    },

    async documents({ projectId, query }) {
      const found = await (await provided(passages)).find(projectId, query, EACH_MAX)
      const byDocument = Map.groupBy(found, ({ documentId }) => documentId)
      return Array.from(byDocument, ([id, own]) => ({
        ...{ key: `documents:${id}`, type: "documents", url: null, documentId: id },
        title: titleOf(own[0]?.document ?? ""),
        snippet: snippetOf(own[0]?.text ?? ""),
        passages: own.map(({ text }) => clean(text)),
      }))
    },

    async web({ query, language, signal }) {
      if (!web) throw new SourceProblem(NO_WEB)
      return web(query, { limit: EACH_MAX, language, signal })
    },
  }

  const search = async (question: Question): Promise<Gathered> => {
    const warnings: string[] = []
    const lists = await Promise.all(
      question.scope.map(async name => {
        try {
          return await look[name](question)
        } catch (error) {
          question.signal.throwIfAborted()
          if (
            !(error instanceof SourceProblem) &&
            (error as { code?: unknown }).code !== "service_unavailable"
          )
            throw error
          warnings.push(`${name} could not be searched: ${(error as Error).message}`)
          return undefined
        }
      }),
    )
    const answered = lists.filter(list => list !== undefined)
    if (answered.length === 0) throw fault("service_unavailable", { reason: warnings.join("; ") })
    return { materials: fuse(answered), warnings }
  }

  return {
    search,

    async read(question, most) {
      const { materials, warnings } = await search(question)
      const fetched = await fetchPages(materials.slice(0, most), question.signal)
      const readable = fetched.materials.filter(({ passages }) => passages.length > 0)
      return { materials: readable, warnings: [...warnings, ...fetched.warnings] }
    },

    problemOf: name => (name === "web" && !web ? NO_WEB : undefined),
  }
}

/** In the order in which they are documented. */
export const inOrder = (names: readonly ResearchSourceName[]): ResearchSourceName[] =>
  RESEARCH_SOURCES.filter(name => names.includes(name))
