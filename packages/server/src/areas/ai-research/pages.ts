/** Fetches pages of the web that a search found: as addresses of strangers, within limits of number, size and time. */
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import type { PassageFinder } from "../ai-rag/offers.ts"
import { clean, type Material, PASSAGE_LENGTH_MAX } from "./material.ts"

/** Pages that are fetched for one question. */
export const PAGES_MAX = 5
const AT_ONCE = 3
const PAGE_BYTES_MAX = 2 * 1024 * 1024
const PAGE_MS_MAX = 10_000
const ALL_MS_MAX = 30_000
const REDIRECTS_MAX = 5
const PASSAGES_MAX = 60

export interface FetchedPages {
  /** With their passages; pages that could not be fetched are left out. */
  readonly materials: readonly Material[]
  readonly warnings: readonly string[]
}

export type FetchPages = (materials: readonly Material[], signal: AbortSignal) => Promise<FetchedPages>

interface PageNeeds {
  readonly outbound: Outbound
  readonly reader: () => Promise<PassageFinder>
}

const fetchPage = async ({ outbound, reader }: PageNeeds, page: Material, signal: AbortSignal) => {
  const url = page.url ?? ""
  const answer = await outbound.request({
    ...{ url, signal, timeoutMs: PAGE_MS_MAX, redirectsMax: REDIRECTS_MAX, decompress: true },
    ...{ responseBytesMax: PAGE_BYTES_MAX, overflow: "cut" as const },
    headers: { accept: "text/html, text/*;q=0.9, application/pdf;q=0.8", "user-agent": "Svc-Research/1" },
  })
  if (answer.kind !== "answered") return { problem: answer.message }
  if (answer.status !== 200) return { problem: `the server answered ${answer.status}` }
  const type = (answer.headers["content-type"] ?? "").split(";")[0] ?? ""
  const name = new URL(url).pathname.split("/").at(-1) ?? ""
  return (await reader()).read(answer.body, name || "page.html", type, signal)
}

export const createPages =
  (needs: PageNeeds): FetchPages =>
  async (materials, signal) => {
    const wanted = materials.filter(({ type, passages }) => type === "web" && passages.length === 0)
    const pages = wanted.slice(0, PAGES_MAX)
    const within = AbortSignal.any([signal, AbortSignal.timeout(ALL_MS_MAX)])
    const read = new Map<string, Material>()
    const warnings: string[] = []
    const waiting = [...pages]
    const work = async () => {
      for (let page = waiting.shift(); page; page = waiting.shift()) {
        const fetched = await fetchPage(needs, page, within).catch((error: unknown) => {
          signal.throwIfAborted()
          if (within.aborted) return { problem: "there was no time left for it" }
          throw error
        })
        if ("problem" in fetched) warnings.push(clean(`${page.url} was not read: ${fetched.problem}`))
        else {
          const passages = fetched.passages
            .slice(0, PASSAGES_MAX)
            .map(text => clean(text.slice(0, 2 * PASSAGE_LENGTH_MAX)))
          read.set(page.key, { ...page, passages })
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    const kept = materials.flatMap(material => {
      if (!wanted.includes(material)) return [material]
      const page = read.get(material.key)
      return page ? [page] : []
    })
    return { materials: kept, warnings }
  }
