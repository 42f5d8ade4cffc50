/** Pages beside the API, for people and machines: landing page, reference, errors, health and metrics. No key needed. */
import { createHash, timingSafeEqual } from "node:crypto"
import { isIP } from "node:net"
import { faultMarkdown } from "@svc/contract"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { METRICS_TYPE } from "../metrics.ts"
import { requestIdFor } from "../pipeline.ts"
import { createClientAddress, parseCidrs } from "./client-address.ts"
import { addConsole } from "./pages/console.ts"
import { createKeptDocument, preferred } from "./pages/documents.ts"
import { errorIndexMarkdown, renderErrorIndex, renderErrorPage, renderUnknownError } from "./pages/errors.ts"
import { describeInstallation, renderLanding } from "./pages/landing.ts"
import { PAGE_POLICY } from "./pages/layout.ts"
import { createReference, REFERENCE_POLICY } from "./pages/reference.ts"

export interface Readiness {
  readonly ready: boolean
  /** Why it is not, in a sentence that gives nothing away: anyone may read it. */
  readonly reason?: string
}

export interface PagesNeeds {
  readonly baseUrl: string
  /** The OpenAPI document; asked for once. */
  readonly openapi: () => object
  readonly ready: () => Promise<Readiness>
  /** Prometheus text. */
  readonly metrics: () => Promise<string>
  /** Lets callers of other machines read the metrics; without it only this machine's may. */
  readonly metricsToken?: string | undefined
  /** Where the console was made; of this repository unless told. */
  readonly consoleFolder?: URL
}

const METHOD = ["GET", "HEAD"]
const HTML = "text/html"
const MARKDOWN = "text/markdown"
const JSON_TYPE = "application/json"
/** A page may change with the next release, so it is asked for again. */
const REVALIDATE = "no-cache"

const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "content-security-policy": PAGE_POLICY,
} as const

const sendText = (reply: FastifyReply, type: string, text: string) =>
  reply.headers({ "cache-control": REVALIDATE, vary: "accept" }).type(`${type}; charset=utf-8`).send(text)

/** Adds the pages as routes of their own, whose hook the routes of the API do not pay for. */
export const addPages = (app: FastifyInstance, needs: PagesNeeds): void => {
  const root = new URL(needs.baseUrl).pathname.replace(/\/+$/, "")
  app.register(async pages => {
    pages.addHook("onRequest", async (request, reply) => {
      const given = request.headers["x-request-id"]
      reply.headers({
        "x-request-id": requestIdFor(typeof given === "string" ? given : undefined),
        ...SECURITY_HEADERS,
      })
    })
    addLanding(pages, needs, root)
    addReference(pages, needs, root)
    addErrors(pages, needs, root)
    addConsole(pages, root, needs.consoleFolder)
    addHealth(pages, needs)
    addMetrics(pages, needs)
  })
}

const addLanding = (pages: FastifyInstance, { baseUrl }: PagesNeeds, root: string) => {
  pages.route({
    method: METHOD,
    url: "/",
    handler: (request, reply) =>
      preferred(request, [HTML, JSON_TYPE]) === HTML
        ? sendText(reply, HTML, renderLanding(baseUrl, root))
        : sendText(reply, JSON_TYPE, JSON.stringify(describeInstallation(baseUrl))),
  })
}

const addReference = (pages: FastifyInstance, { openapi }: PagesNeeds, root: string) => {
  const description = createKeptDocument({
    type: "application/json; charset=utf-8",
    cacheControl: REVALIDATE,
    load: async () => Buffer.from(JSON.stringify(openapi())),
  })
  pages.route({
    method: METHOD,
    url: "/openapi.json",
    handler: (request, reply) => {
      // Nothing in it is secret, and generators in browsers ask for it from elsewhere.
      reply.header("access-control-allow-origin", "*")
      return description.send(request, reply)
    },
  })

  const reference = createReference(root)
  pages.route({
    method: METHOD,
    url: "/docs",
    handler: (_request, reply) => {
      reply.header("content-security-policy", REFERENCE_POLICY)
      return sendText(reply, HTML, reference.html)
    },
  })
  pages.route<{ Params: { version: string; name: string } }>({
    method: METHOD,
    url: "/docs/assets/:version/:name",
    handler: (request, reply) => {
      const { version, name } = request.params
      const asset = version === reference.version ? reference.asset(name) : undefined
      return asset ? asset.send(request, reply) : reply.callNotFound()
    },
  })
}

const addErrors = (pages: FastifyInstance, { baseUrl }: PagesNeeds, root: string) => {
  pages.route({
    method: METHOD,
    url: "/docs/errors",
    handler: (request, reply) =>
      preferred(request, [HTML, MARKDOWN]) === HTML
        ? sendText(reply, HTML, renderErrorIndex(root))
        : sendText(reply, MARKDOWN, errorIndexMarkdown(baseUrl)),
  })
  pages.route<{ Params: { code: string } }>({
    method: METHOD,
    url: "/docs/errors/:code",
    handler: (request, reply) => {
      const { code } = request.params
      const html = renderErrorPage(code, baseUrl, root)
      if (html === undefined) return sendText(reply.code(404), HTML, renderUnknownError(root))
      return preferred(request, [HTML, MARKDOWN]) === HTML
        ? sendText(reply, HTML, html)
        : sendText(reply, MARKDOWN, faultMarkdown(code, baseUrl))
    },
  })
}

const addHealth = (pages: FastifyInstance, { ready }: PagesNeeds) => {
  const answer = (reply: FastifyReply, body: object) => reply.header("cache-control", "no-store").send(body)
  pages.route({
    method: METHOD,
    url: "/health",
    handler: (_request, reply) => answer(reply, { status: "ok" }),
  })
  pages.route({
    method: METHOD,
    url: "/health/ready",
    handler: async (_request, reply) => {
      const state = await ready()
      if (state.ready) return answer(reply, { status: "ready" })
      return answer(reply.code(503).header("retry-after", "1"), {
        status: "not_ready",
        reason: state.reason ?? "not started",
      })
    },
  })
}

const LOOPBACK = parseCidrs(["127.0.0.0/8", "::1"])
/** Headers that show that the peer is a proxy and not the caller. */
const FORWARDING_HEADERS = ["forwarded", "x-forwarded-for", "x-real-ip", "via"] as const
const peerAddress = createClientAddress([])

/**
 * A page in this machine's browser reaches us under any name that its owner points here (DNS rebinding), and may read what
 * it gets. Names that only lead here are no one else's.
 */
const isOwnName = (host: string | undefined, baseUrl: string): boolean => {
  const url = `http://${host ?? ""}`
  if (host === undefined || !URL.canParse(url)) return false
  const name = new URL(url).hostname.replace(/^\[|\]$/g, "")
  return name === "localhost" || isIP(name) !== 0 || name === new URL(baseUrl).hostname
}

const isThisMachine = ({ raw }: FastifyRequest, baseUrl: string): boolean => {
  if (!isOwnName(raw.headers.host, baseUrl)) return false
  if (FORWARDING_HEADERS.some(name => raw.headers[name] !== undefined)) return false
  const peer = peerAddress(raw)
  return LOOPBACK.check(peer, peer.includes(":") ? "ipv6" : "ipv4")
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

const addMetrics = (pages: FastifyInstance, { metrics, metricsToken, baseUrl }: PagesNeeds) => {
  const expected = metricsToken === undefined ? undefined : digest(`Bearer ${metricsToken}`)
  const admits = (request: FastifyRequest): boolean =>
    isThisMachine(request, baseUrl) ||
    (expected !== undefined && timingSafeEqual(digest(request.headers.authorization ?? ""), expected))
  pages.route({
    method: METHOD,
    url: "/metrics",
    handler: async (request, reply) => {
      reply.header("cache-control", "no-store")
      if (admits(request)) return reply.type(METRICS_TYPE).send(await metrics())
      return reply
        .code(401)
        .header("www-authenticate", "Bearer")
        .type("text/plain; charset=utf-8")
        .send("Metrics are for callers of this machine, or for the bearer token set as SVC_METRICS_TOKEN.\n")
    },
  })
}
