import { SEARCH_DOCUMENT_BYTES_MAX } from "@svc/contract"
import type { Outbound } from "../../../kernel/outbound/outbound.ts"
import type { Item, Unreadable } from "../documents.ts"
import type { UrlConfig } from "./config.ts"
import { contentText, isReadable, typeOf } from "./content.ts"
import type { ReadSource } from "./reading.ts"

/** Requested at the same time. */
const PAGES = 5
const REDIRECTS_MAX = 5
const TIMEOUT_MS = 15_000
/** Markup beside the text. */
const PAGE_BYTES_MAX = 4 * SEARCH_DOCUMENT_BYTES_MAX

const readPage = async (outbound: Outbound, url: string, signal: AbortSignal): Promise<Item | Unreadable> => {
  const answer = await outbound.request({
    ...{ url, signal, timeoutMs: TIMEOUT_MS, redirectsMax: REDIRECTS_MAX, decompress: true },
    ...{ responseBytesMax: PAGE_BYTES_MAX, overflow: "fail" as const },
    headers: { accept: "text/html, text/*;q=0.9, application/json;q=0.8", "user-agent": "Svc-Search/1" },
  })
  if (answer.kind !== "answered") return { id: url, problem: answer.message }
  if (answer.status !== 200) return { id: url, problem: `the server answered ${answer.status}` }
  const type = typeOf(answer.headers["content-type"], new URL(url).pathname)
  if (!isReadable(type)) return { id: url, problem: `there is no text in ${type || "an unknown type"}` }
  const { title, text } = await contentText(answer.body, type)
  const metadata = { content_type: type }
  return { id: url, title: title || url, url, metadata, record: { title: title || url, text, metadata } }
}

export const readUrls =
  (outbound: Outbound): ReadSource =>
  async (source, cursor, signal) => {
    const { urls } = source.config as unknown as UrlConfig
    const from = Number(cursor ?? 0)
    const some = urls.slice(from, from + PAGES)
    const items = await Promise.all(some.map(url => readPage(outbound, url, signal)))
    signal.throwIfAborted()
    return { items, next: from + PAGES < urls.length ? String(from + PAGES) : null }
  }
