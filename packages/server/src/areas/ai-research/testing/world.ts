/** A tenant with sources to research in, and a web of its own: a search server that speaks SearXNG's API, and pages. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { TestContext } from "node:test"
import type { PlanName } from "@svc/contract"
import { everyScope, type PlatformOptions, platform } from "../../../testing/platform.ts"

export interface Web {
  readonly url: string
  /** Queries of searches, in order. */
  readonly searched: string[]
  /** Paths of pages that were fetched. */
  readonly fetched: readonly string[]
  /** What a search finds: paths of pages with a title and a snippet; or another answer. */
  results: (query: string) => readonly (readonly [path: string, title: string, snippet: string])[]
  /** By path: the page's HTML. */
  readonly pages: Map<string, string>
  status: number
  /** What a search waits for. */
  hold: (query: string) => Promise<unknown> | undefined
}

export const startWeb = async (t: TestContext): Promise<Web> => {
  const searched: string[] = []
  const fetched: string[] = []
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", web.url)
    if (pathname !== "/search") {
      fetched.push(pathname)
      const page = web.pages.get(pathname)
      response.writeHead(page === undefined ? 404 : 200, { "content-type": "text/html" }).end(page)
      return
    }
    const query = searchParams.get("q") ?? ""
    searched.push(query)
    await web.hold(query)
    const results = web.results(query).map(([path, title, content]) => ({
      ...{ url: path.startsWith("/") ? `${web.url}${path}` : path, title, content },
      ...{ engine: "test", score: 1, category: "general" },
    }))
    const isJson = searchParams.get("format") === "json"
    response
      .writeHead(isJson ? web.status : 406, { "content-type": "application/json" })
      .end(JSON.stringify({ query, number_of_results: results.length, results }))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const web: Web = {
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, searched, fetched },
    ...{ results: () => [], pages: new Map(), status: 200, hold: () => undefined },
  }
  return web
}

export const html = (title: string, ...paragraphs: string[]): string =>
  `<!doctype html><html><head><title>${title}</title></head><body><article><h1>${title}</h1>` +
  `${paragraphs.map(text => `<p>${text}</p>`).join("")}</article></body></html>`

export const webEnv = ({ url }: Pick<Web, "url">) => ({
  SVC_SEARXNG_URL: url,
  SVC_OUTBOUND_ALLOW: "127.0.0.1/32",
})

export const researchWorld = async (
  t: TestContext,
  options: PlatformOptions & { readonly plan?: PlanName } = {},
) => {
  const p = await platform(t, options)
  await p.tenant("acme", options.plan)
  const { secret } = await p.key("acme", everyScope)
  return { p, svc: p.as(secret), secret }
}

/** A document of the project's search index. */
export const indexed = async (
  svc: Awaited<ReturnType<typeof researchWorld>>["svc"],
  ...documents: { id: string; title: string; text: string; url?: string }[]
) => {
  const { id } = await svc.search.upsertSource({ name: "handbook", type: "inline" })
  await svc.search.putDocuments({ id, documents })
  return id
}
