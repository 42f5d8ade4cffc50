import type { Readable } from "node:stream"
import { type areas, REGISTRY_UNREFERENCED_HOURS, reply } from "@svc/contract"
import { parseRange } from "../../kernel/byte-ranges.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Needs } from "./needs.ts"
import { openBlob } from "./reading.ts"
import { blobNotFound, findBlob, touchBlob, unlinkBlob } from "./store/blobs.ts"

export type BlobHandlers = Pick<
  Handlers<(typeof areas.registry)["specs"]>,
  "getBlob" | "headBlob" | "deleteBlob"
>

/** What tenants store is not ours: a page of theirs runs as a stranger, and nothing is taken for one that is not called so. */
export const ISOLATION = {
  "content-security-policy": "sandbox",
  "x-content-type-options": "nosniff",
} as const

const headersOf = (digest: string, bytes: number): Record<string, string> => ({
  ...ISOLATION,
  "content-type": "application/octet-stream",
  "content-length": String(bytes),
  "docker-content-digest": digest,
  "accept-ranges": "bytes",
  etag: `"${digest}"`,
})

/** Who asks is told anew that it is there after a part of the time for which it is kept. */
const TOUCHED_MS = (REGISTRY_UNREFERENCED_HOURS * 3_600_000) / 8

export const blobHandlers = ({ database, blob }: Needs): BlobHandlers => ({
  async getBlob({ repository, digest }, call) {
    const { projectId } = call.projectTenant
    const { store_id: storeId, bytes } = await findBlob(database.db, { projectId, repository, digest })
    const range = parseRange(call.header("range"), bytes)
    if (range === "unsatisfiable")
      throw fault("range_not_satisfiable", undefined, { headers: { "content-range": `bytes */${bytes}` } })
    const { start, end } = range === "all" ? { start: 0, end: bytes - 1 } : range
    const body = await openBlob({ blob, db: database.db }, { projectId, storeId }, { start, end })
    const length = end - start + 1
    call.meter("egress_bytes", length)
    const headers = headersOf(digest, length)
    if (range === "all") return reply<200 | 206, Readable>(200, body, headers)
    return reply<200 | 206, Readable>(206, body, {
      ...headers,
      "content-range": `bytes ${start}-${end}/${bytes}`,
    })
  },

  async headBlob({ repository, digest }, call) {
    const { projectId } = call.projectTenant
    const found = await findBlob(database.db, { projectId, repository, digest })
    const link = { projectId, repositoryId: found.repository_id, digest }
    const isFresh = call.now.getTime() - found.touched_at.getTime() < TOUCHED_MS
    if (!isFresh && !(await touchBlob(database.db, link, call.now))) throw blobNotFound(digest)
    for (const [name, value] of Object.entries(headersOf(digest, found.bytes))) call.setHeader(name, value)
  },

  async deleteBlob({ repository, digest }, call) {
    const { projectId } = call.projectTenant
    await database.transaction(tx => unlinkBlob(tx, { projectId, repository, digest }))
  },
})
