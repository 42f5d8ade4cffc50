/** Signed URLs and public buckets. */
import type { areas, Input } from "@svc/contract"
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { Tenants } from "../../core/organizations/tenants.ts"
import type { AccountCall, Call, Principal } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import { requireScope } from "../../kernel/scopes.ts"
import type { Stores } from "./access/callers.ts"
import { answerGet, answerHead, type Download } from "./download.ts"
import type { HttpMetadata, Place } from "./object-store.ts"
import { announcedSize, objectPayload, overwriting, placeOf } from "./payloads.ts"
import { readAttributes } from "./rules/attributes.ts"
import { parseDigest, readExpected } from "./rules/checksums.ts"
import { checkKey } from "./rules/names.ts"
import { type Grant, parseToken, pathOf, readGrant, signGrant } from "./rules/signed-urls.ts"
import type { Signers } from "./signers.ts"
import type { SigningKeys } from "./signing-keys.ts"
import { bucketStore } from "./store/buckets.ts"

type Operations = typeof areas.storage.specs
type Signed = Input<Operations["getSigned"]>
type Public = Input<Operations["getPublic"]>
type Presign = Input<Operations["presign"]>

export interface LinkHandlerNeeds {
  readonly stores: Stores
  readonly database: Database
  readonly meters: BackgroundMeters
  readonly signingKeys: SigningKeys
  readonly signers: Signers
  readonly tenants: Tenants
  readonly baseUrl: string
}

const EXPIRES_SECONDS = 900
/** What was read once may be read again without asking, until a bucket that was made private has to be so everywhere. */
const PUBLIC_CACHE = "public, max-age=60"

const refuse = (reason: string) => fault("signed_url_invalid", { reason })

const toGrant = (input: Presign, { key, user }: Principal, expiresAt: number): Grant => ({
  m: input.method ?? "GET",
  b: input.bucket,
  e: expiresAt,
  ...(key ? { c: key.id } : user && { u: user.id }),
  ...(input.content_type !== undefined && { t: input.content_type }),
  ...(input.content_length !== undefined && { l: input.content_length }),
  ...(input.max_size !== undefined && { x: input.max_size }),
  ...(input.checksum_sha256 !== undefined && { s: input.checksum_sha256 }),
  ...(input.overwrite === false && { o: 0 }),
  ...(input.response_content_disposition !== undefined && { d: input.response_content_disposition }),
  ...(input.response_content_type !== undefined && { y: input.response_content_type }),
})

const UPLOAD_FIELDS = ["content_type", "content_length", "max_size", "checksum_sha256"] as const
const DOWNLOAD_FIELDS = ["response_content_disposition", "response_content_type"] as const

const checkPresign = (call: Call, input: Presign) => {
  const isPut = input.method === "PUT"
  const wrong = (isPut ? DOWNLOAD_FIELDS : UPLOAD_FIELDS).find(field => input[field] !== undefined)
  if (wrong) throw fault("invalid_parameter", { reason: `${wrong} means nothing for this method` })
  checkKey(input.key)
  if (input.checksum_sha256 !== undefined) parseDigest("sha256", input.checksum_sha256)
  if (isPut && call.readOnly) throw fault("key_read_only")
  requireScope(call, isPut ? "storage:write" : "storage:read")
}

/** Headers that have to come with an upload. */
const headersToSend = ({ content_type, checksum_sha256 }: Presign): Record<string, string> => ({
  ...(content_type !== undefined && { "content-type": content_type }),
  ...(checksum_sha256 !== undefined && { "x-svc-checksum-sha256": checksum_sha256 }),
})

const createPresign =
  ({ database, signingKeys, baseUrl }: LinkHandlerNeeds) =>
  async (input: Presign, call: Call) => {
    checkPresign(call, input)
    await bucketStore(database.db).find(call.owner, input.bucket)
    // Whole seconds, and never less than was asked for.
    const expiresAt = Math.ceil(call.now.getTime() / 1000) + (input.expires_in ?? EXPIRES_SECONDS)
    const grant = toGrant(input, call.principal, expiresAt)
    const token = signGrant(await signingKeys.current(placeOf(call), call.now), grant, input.key)
    return {
      url: `${baseUrl}/v1/storage/signed/${token}/${pathOf(input.key)}`,
      method: grant.m,
      headers: headersToSend(input),
      expires_at: new Date(expiresAt * 1000).toISOString(),
    }
  }

const createVerify = ({ signingKeys, signers, tenants }: LinkHandlerNeeds) => {
  const readSigned = async ({ token: text, key }: Signed) => {
    const token = parseToken(text)
    const signingKey = token && (await signingKeys.find(token.keyId))
    const grant = signingKey && readGrant(signingKey, token, key)
    if (!grant) throw refuse("it is not one that was made here, or it was changed")
    return { grant, projectId: signingKey.projectId }
  }

  const verify = async (
    input: Signed,
    method: Grant["m"],
    nowMs: number,
  ): Promise<{ grant: Grant; place: Place }> => {
    const { grant, projectId } = await readSigned(input)
    if (grant.m !== method) throw refuse(`it is for ${grant.m}`)
    if (nowMs >= grant.e * 1000) throw refuse("it has expired")
    const place = await tenants.find(projectId)
    if (!place || !(await signers.allow(grant, place, nowMs)))
      throw refuse("whoever made it may not do this any more")
    return { grant, place }
  }

  /** A good URL counts as its organization's request. What is no good is its address's. */
  return async (input: Signed, method: Grant["m"], { now, countRequest }: AccountCall) => {
    const verified = await verify(input, method, now.getTime()).catch(error => {
      countRequest(null)
      throw error
    })
    countRequest(verified.place.organization)
    return verified
  }
}

const checkUpload = ({ t, l, x }: Grant, { header }: AccountCall): number | undefined => {
  const { size } = announcedSize(header)
  if (t !== undefined && header("content-type") !== t) throw refuse(`the content type must be ${t}`)
  if ((l !== undefined || x !== undefined) && size === undefined)
    throw refuse("the request must tell its length")
  if (l !== undefined && size !== l) throw refuse(`it is for exactly ${l} bytes`)
  if (x !== undefined && (size ?? 0) > x) throw refuse(`it is for at most ${x} bytes`)
  return size
}

const overridesOf = ({ d, y }: Grant): HttpMetadata => ({
  ...(d !== undefined && { contentDisposition: d }),
  ...(y !== undefined && { contentType: y }),
})

/** What policies ask of a call; its getters are read when they are needed. */
const called = ({ header, headerNames, ip, now, userAgent }: AccountCall) => ({
  ...{ header, headerNames, ip, now, userAgent },
})

export const linkHandlers = (needs: LinkHandlerNeeds) => {
  const { stores, meters, tenants } = needs
  const verify = createVerify(needs)

  const count = ({ organization, projectId }: Place, metric: "ingress_bytes" | "egress_bytes", at: Date) => {
    return (quantity: number) =>
      meters.count({ organizationId: organization.id, projectId, metric, quantity, at })
  }

  const signedDownload = async (input: Signed, call: AccountCall) => {
    const verified = await verify(input, "GET", call)
    const { grant, place } = verified
    const { key } = input
    const download: Download = {
      ...{ place, bucket: grant.b, key, header: call.header },
      http: overridesOf(grant),
      cacheControl: "private, no-cache",
    }
    return { download, store: storeOfSigner(call, verified) }
  }

  /** Whoever made the URL does what is done by it. */
  const storeOfSigner = (call: AccountCall, { grant, place }: { grant: Grant; place: Place }) =>
    stores.storeFor(
      { ...called(call), principal: { id: grant.c ?? grant.u ?? "", type: grant.c ? "key" : "session" } },
      "owner",
      place.projectId,
    )

  const publicDownload = async (
    { project_id, bucket, key }: Public,
    call: AccountCall,
  ): Promise<Download> => {
    const place = await tenants.find(project_id)
    if (!place) throw fault("object_not_found", { key })
    return { place, bucket, key, header: call.header, cacheControl: PUBLIC_CACHE }
  }

  const publicStore = (call: AccountCall, { place }: Download) =>
    stores.storeFor(call, "anybody", place.projectId)

  /** A private bucket is answered like one that was never made. */
  const asAbsent = (key: string) => (error: unknown) => {
    const isAbsent = isFault(error, "bucket_not_found") || isFault(error, "missing_credentials")
    throw isAbsent ? fault("object_not_found", { key }) : error
  }

  return {
    presign: createPresign(needs),

    async getSigned(input: Signed, call: AccountCall) {
      const { download, store } = await signedDownload(input, call)
      return answerGet(store, download, count(download.place, "egress_bytes", call.now))
    },

    async headSigned(input: Signed, call: AccountCall) {
      const { download, store } = await signedDownload(input, call)
      return answerHead(store, download)
    },

    async putSigned(input: Signed, call: AccountCall) {
      const verified = await verify(input, "PUT", call)
      const { grant, place } = verified
      call.describe({ tenantId: place.organization.id })
      const size = checkUpload(grant, call)
      const object = await storeOfSigner(call, verified).put(place, {
        ...{ bucket: grant.b, key: input.key, source: call.stream, now: call.now, signal: call.signal },
        ...(size !== undefined && { size }),
        ...readAttributes(call),
        ...overwriting(grant.o !== 0),
        expected: {
          ...readExpected(call.header),
          ...(grant.s !== undefined && { sha256: Buffer.from(grant.s, "base64") }),
        },
      })
      count(place, "ingress_bytes", call.now)(object.size)
      call.setHeader("etag", `"${object.etag}"`)
      return objectPayload(object)
    },

    async getPublic(input: Public, call: AccountCall) {
      const download = await publicDownload(input, call)
      const answer = answerGet(
        publicStore(call, download),
        download,
        count(download.place, "egress_bytes", call.now),
      )
      return await answer.catch(asAbsent(input.key))
    },

    async headPublic(input: Public, call: AccountCall) {
      const download = await publicDownload(input, call)
      return await answerHead(publicStore(call, download), download).catch(asAbsent(input.key))
    },
  }
}
