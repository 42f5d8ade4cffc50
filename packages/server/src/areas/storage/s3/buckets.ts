/** Buckets, and what can be set on them elsewhere. */

import { checkAcl } from "../access/lists.ts"
import { readAclHeader } from "./acl.ts"
import { readBody } from "./body.ts"
import { type S3Code, s3Fault } from "./errors.ts"
import { BUCKETS_LISTED_MAX, s3Region } from "./facts.ts"
import { checkSupported } from "./headers.ts"
import { readOwnership, setOwnership } from "./policy.ts"
import { countOf, givenOf, ownerOf, type S3Handler, type S3Request, xml } from "./request.ts"
import { element, text } from "./xml.ts"
import { parseXml } from "./xml-body.ts"

/** By name. A page's token is the name of its last bucket. */
export const listBuckets: S3Handler = async request => {
  const { store, place, query } = request
  const prefix = givenOf(query, "prefix") ?? ""
  const max = countOf(query, "max-buckets", BUCKETS_LISTED_MAX)
  if (max === 0) throw s3Fault("InvalidArgument", "max-buckets must be at least 1")
  const after = Buffer.from(givenOf(query, "continuation-token") ?? "", "base64url").toString()
  const { rows } = await store.listBuckets(place, { limit: BUCKETS_LISTED_MAX, offset: 0 })
  const left = rows.filter(({ name }) => name.startsWith(prefix) && name > after)
  const page = left.slice(0, max)
  const last = page.at(-1)
  return xml("ListAllMyBucketsResult", [
    element("Owner", ownerOf(request)),
    element(
      "Buckets",
      page.map(({ name, createdAt }) =>
        element("Bucket", [text("Name", name), text("CreationDate", createdAt.toISOString())]),
      ),
    ),
    ...(last && left.length > page.length
      ? [text("ContinuationToken", Buffer.from(last.name).toString("base64url"))]
      : []),
    ...(prefix === "" ? [] : [text("Prefix", prefix)]),
  ])
}

export const headBucket: S3Handler = async ({ store, place, bucket }) => {
  await store.findBucket(place, bucket)
  return { status: 200, body: undefined, headers: { "x-amz-bucket-region": s3Region } }
}

export const createBucket: S3Handler = async ({ call, store, place, bucket }) => {
  checkSupported(call)
  const acl = readAclHeader(call)
  const ownership = call.header("x-amz-object-ownership")
  const chosen = ownership === undefined ? undefined : readOwnership(ownership)
  checkAcl(acl, chosen ? { ownership: chosen } : {})
  // Wherever it is to be located, it is here.
  const configuration = call.header("content-length") === undefined ? "" : await readBody(call)
  if (configuration !== "") await parseXml(configuration, "CreateBucketConfiguration")
  await store.createBucket(place, { name: bucket, isPublic: false, now: call.now })
  if (acl !== undefined && acl !== "private")
    await store.setSettings(place, bucket, { acl }, "s3:CreateBucket")
  if (chosen) await setOwnership(store, place, bucket, chosen)
  return { status: 200, body: undefined, headers: { location: `/${bucket}` } }
}

export const deleteBucket: S3Handler = async ({ store, place, bucket }) => {
  await store.removeBucket(place, bucket)
  return { status: 204, body: undefined }
}

const of =
  (root: string, children: (request: S3Request) => readonly string[] = () => []): S3Handler =>
  async request => {
    await request.store.findBucket(request.place, request.bucket)
    return xml(root, children(request))
  }

/** What nobody has set, because nobody can. */
export const unset =
  (code: S3Code): S3Handler =>
  async ({ store, place, bucket }) => {
    await store.findBucket(place, bucket)
    throw s3Fault(code)
  }

/** Taking away what cannot be set leaves things as they are. */
export const clearSetting: S3Handler = async ({ store, place, bucket }) => {
  await store.findBucket(place, bucket)
  return { status: 204, body: undefined }
}

/** S3 names its oldest region by saying nothing. */
export const getLocation = of("LocationConstraint")
export const getLogging = of("BucketLoggingStatus")
export const getNotification = of("NotificationConfiguration")
export const getAccelerate = of("AccelerateConfiguration")
export const getRequestPayment = of("RequestPaymentConfiguration", () => [text("Payer", "BucketOwner")])
