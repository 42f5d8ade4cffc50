/** Results of the web, by the SearXNG server that the operator names. */
import type { Readable } from "node:stream"
import { type Found, pageUrl, snippetOf, titleOf } from "./material.ts"

export class SourceProblem extends Error {
  override readonly name = "SourceProblem"
}

const TIMEOUT_MS = 10_000
const BYTES_MAX = 2 * 1024 * 1024
const QUERY_LENGTH_MAX = 400

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const readAll = async (body: Readable): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BYTES_MAX) throw new SourceProblem("its answer is too long")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

const parse = (text: string): readonly unknown[] => {
  let reply: unknown
  try {
    reply = JSON.parse(text)
  } catch {
    throw new SourceProblem("its answer is not JSON")
  }
  const { results } = (reply ?? {}) as { readonly results?: unknown }
  if (!Array.isArray(results)) throw new SourceProblem("its answer is not that of a SearXNG")
  return results
}

const toFound = (result: unknown): Found[] => {
  const { url, title, content } = (result ?? {}) as Readonly<Record<string, unknown>>
  const address = pageUrl(textOf(url))
  if (address === undefined) return []
  return [
    {
      ...{ key: `web:${address}`, type: "web", url: address, documentId: null, passages: [] },
      title: titleOf(textOf(title)) || address,
      snippet: snippetOf(textOf(content)),
    },
  ]
}

export type SearchWeb = (
  query: string,
  options: { readonly limit: number; readonly language: string | undefined; readonly signal: AbortSignal },
) => Promise<readonly Found[]>

/** The operator's own server, which may be on this machine: it is no address of a user's. */
export const createSearxng =
  (base: string): SearchWeb =>
  async (query, { limit, language, signal }) => {
    const { request } = await import("undici")
    const asked = new URLSearchParams({
      q: query.slice(0, QUERY_LENGTH_MAX),
      format: "json",
      categories: "general",
    })
    if (language !== undefined) asked.set("language", language)
    try {
      const answer = await request(`${base}/search?${asked}`, {
        headers: { accept: "application/json" },
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      })
      const text = await readAll(answer.body)
      if (answer.statusCode === 403)
        throw new SourceProblem("it answers 403: `json` has to be among `search.formats` of its settings.yml")
      if (answer.statusCode !== 200) throw new SourceProblem(`it answers ${answer.statusCode}`)
      return parse(text).flatMap(toFound).slice(0, limit)
    } catch (error) {
      if (error instanceof SourceProblem) throw error
      if (signal.aborted) throw signal.reason
      throw new SourceProblem("it does not answer", { cause: error })
    }
  }
