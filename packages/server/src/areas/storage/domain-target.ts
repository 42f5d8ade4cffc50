/** Buckets that custom domains are pointed at: each is a site, whose pages are its objects. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { Tenants } from "../../core/organizations/tenants.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { type ReplyHeaders, sendStream, sendWhole } from "../../kernel/edges/reply.ts"
import { isFault } from "../../kernel/fault.ts"
import { type Refusal, refuse } from "../../services/proxy/refusal.ts"
import type { AskedOfDomain, DomainTarget, Pointed, Site } from "../domains/offers.ts"
import { answerGet, answerHead, type Download, ISOLATION } from "./download.ts"
import type { ObjectStore, Place } from "./object-store.ts"
import { bucketStore } from "./store/buckets.ts"

export interface DomainTargetNeeds {
  readonly db: Db
  readonly store: ObjectStore
  readonly tenants: Tenants
  readonly meters: BackgroundMeters
  readonly clock: Clock
}

const CACHE = "public, max-age=0, must-revalidate"
const ABSENT: Refusal = { status: 404, text: "There is no such page." }
const METHODS: Refusal = {
  status: 405,
  text: "Pages are read by GET and HEAD.",
  headers: { allow: "GET, HEAD" },
}
const UNREADABLE: Refusal = { status: 400, text: "The path of the request cannot be read." }

/** The path as a key, and as it is after the host; undefined where it has no spelling. */
const readPath = (url = "") => {
  const path = (url.split("?", 1)[0] ?? "").replace(/^https?:\/\/[^/]*/i, "")
  try {
    return { path, key: decodeURIComponent(path.slice(1)) }
  } catch {
    return undefined
  }
}

const isAbsent = (error: unknown): boolean =>
  isFault(error, "object_not_found") || isFault(error, "bucket_not_found")

/** The sandbox is for pages that share a host with those of other tenants; a domain is its owner's alone. */
const headersOf = (headers: ReplyHeaders, site: Site): ReplyHeaders => {
  const { "content-security-policy": _, ...isolation } = ISOLATION
  const { "content-security-policy": __, ...kept } = headers
  return { ...kept, ...isolation, ...site.headers }
}

interface Page {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly place: Place
  readonly bucket: string
  readonly site: Site
}

export const createDomainTarget = (needs: DomainTargetNeeds): DomainTarget => {
  const { db, store, tenants, meters, clock } = needs

  /** Answers with an object, if it is there. `status` is said of a page that stands in for another. */
  const sendObject = async (page: Page, key: string, status?: 200 | 404): Promise<boolean> => {
    const { request, response, place, bucket, site } = page
    const header = (name: string) => {
      const value = status === undefined ? request.headers[name] : undefined
      return Array.isArray(value) ? value.join(", ") : value
    }
    const download: Download = { place, bucket, key, header, cacheControl: CACHE }
    const sent = (quantity: number) => {
      const { organization, projectId } = place
      const at = new Date(clock.now())
      meters.count({ organizationId: organization.id, projectId, metric: "egress_bytes", quantity, at })
    }
    try {
      const answer =
        request.method === "HEAD" ? await answerHead(store, download) : await answerGet(store, download, sent)
      const headers = headersOf({ ...answer.headers }, site)
      const { body } = answer
      if (body instanceof Readable)
        await sendStream(request, response, status ?? answer.status, body, headers)
      else sendWhole(request, response, status ?? answer.status, "", headers)
      return true
    } catch (error) {
      if (isAbsent(error)) return false
      throw error
    }
  }

  const exists = async ({ place, bucket }: Page, key: string): Promise<boolean> => {
    try {
      await store.find(place, bucket, key)
      return true
    } catch (error) {
      if (isAbsent(error)) return false
      throw error
    }
  }

  const sendPage = async (page: Page): Promise<void> => {
    const { request, response, site } = page
    const { index_document, error_document, spa } = site
    const read = readPath(request.url)
    if (!read) return refuse(response, UNREADABLE)
    const { path, key } = read
    const isFolder = key === "" || key.endsWith("/")
    if (await sendObject(page, isFolder ? `${key}${index_document}` : key)) return
    if (!isFolder && (await exists(page, `${key}/${index_document}`))) {
      // Two slashes at the start would lead to another host.
      const location = `${path.replace(/^\/+/, "/")}/`
      return sendWhole(request, response, 302, "", { location, ...site.headers })
    }
    if (spa && (await sendObject(page, index_document, 200))) return
    if (error_document !== null && (await sendObject(page, error_document, 404))) return
    refuse(response, ABSENT)
  }

  const answer = async ({ projectId, key: bucket, site }: Pointed, asked: AskedOfDomain): Promise<void> => {
    const { request, response } = asked
    if (request.method !== "GET" && request.method !== "HEAD") return refuse(response, METHODS)
    const place = await tenants.find(projectId)
    if (!place || !site || asked.upgrade) return refuse(response, ABSENT)
    try {
      await sendPage({ request, response, place, bucket, site })
    } catch (error) {
      if (!isFault(error) || response.headersSent) throw error
      refuse(response, { status: error.status, text: error.message })
    }
  }

  return {
    scope: "storage:write",
    async find({ projectId }, name) {
      try {
        return (await bucketStore(db).find(projectId, name)).name
      } catch (error) {
        if (isAbsent(error)) return undefined
        throw error
      }
    },
    answer: (pointed, asked) => void answer(pointed, asked).catch(() => void asked.response.destroy()),
  }
}
