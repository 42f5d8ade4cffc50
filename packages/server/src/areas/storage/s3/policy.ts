/** Policies of buckets, blocks of public access, and who owns what is put. */

import { blockOf } from "../access/access.ts"
import type { ObjectStore, Ownership, Place, PublicAccessBlock } from "../object-store.ts"
import { grantsOf } from "../rules/acl.ts"
import {
  BUCKET_POLICY_BYTES_MAX,
  isPublicPolicy,
  type Policy,
  PolicyProblem,
  readPolicy,
} from "../rules/policy.ts"
import { readBody } from "./body.ts"
import { s3Fault } from "./errors.ts"
import { type S3Handler, xml } from "./request.ts"
import { element, text } from "./xml.ts"
import { childrenOf, parseXml, textOf } from "./xml-body.ts"

export const checkedPolicy = (written: string, bucket: string): Policy => {
  try {
    return readPolicy(written, bucket)
  } catch (error) {
    if (error instanceof PolicyProblem) throw s3Fault("MalformedPolicy", error.message)
    throw error
  }
}

export const putPolicy: S3Handler = async ({ call, store, place, bucket }) => {
  const written = await readBody(call)
  if (Buffer.byteLength(written) > BUCKET_POLICY_BYTES_MAX) throw s3Fault("MalformedPolicy", "it is too long")
  const policy = checkedPolicy(written, bucket)
  const settings = await store.findSettings(place, bucket, "s3:PutBucketPolicy")
  if (blockOf(settings).block_public_policy && isPublicPolicy(policy))
    throw s3Fault("AccessDenied", "public policies are blocked in this bucket")
  await store.setSettings(place, bucket, { policy: written }, "s3:PutBucketPolicy")
  return { status: 204, body: undefined }
}

export const getPolicy: S3Handler = async ({ store, place, bucket }) => {
  const { policy } = await store.findSettings(place, bucket, "s3:GetBucketPolicy")
  if (policy === undefined) throw s3Fault("NoSuchBucketPolicy")
  return { status: 200, body: Buffer.from(policy), headers: { "content-type": "application/json" } }
}

export const deletePolicy: S3Handler = async ({ store, place, bucket }) => {
  await store.setSettings(place, bucket, { policy: null }, "s3:DeleteBucketPolicy")
  return { status: 204, body: undefined }
}

/** Whether everybody may do something, by the policy, the list or the setting. */
export const getPolicyStatus: S3Handler = async ({ store, place, bucket }) => {
  const { isPublic } = await store.findBucket(place, bucket, "s3:GetBucketPolicyStatus")
  const settings = await store.findSettings(place, bucket, "s3:GetBucketPolicyStatus")
  const block = blockOf(settings)
  const byPolicy = settings.policy !== undefined && isPublicPolicy(checkedPolicy(settings.policy, bucket))
  const byAcl = !block.ignore_public_acls && grantsOf(settings.acl ?? "private").length > 0
  const isOpen = ((isPublic || byPolicy) && !block.restrict_public_buckets) || byAcl
  return xml("PolicyStatus", [text("IsPublic", isOpen)])
}

const BLOCK_ELEMENTS = {
  block_public_acls: "BlockPublicAcls",
  ignore_public_acls: "IgnorePublicAcls",
  block_public_policy: "BlockPublicPolicy",
  restrict_public_buckets: "RestrictPublicBuckets",
} as const satisfies Record<keyof PublicAccessBlock, string>

export const getBlock: S3Handler = async ({ store, place, bucket }) => {
  const { block } = await store.findSettings(place, bucket, "s3:GetBucketPublicAccessBlock")
  if (!block) throw s3Fault("NoSuchPublicAccessBlockConfiguration")
  return xml(
    "PublicAccessBlockConfiguration",
    Object.entries(BLOCK_ELEMENTS).map(([field, name]) =>
      text(name, block[field as keyof PublicAccessBlock]),
    ),
  )
}

export const putBlock: S3Handler = async ({ call, store, place, bucket }) => {
  const root = await parseXml(await readBody(call), "PublicAccessBlockConfiguration")
  const is = (field: keyof PublicAccessBlock) =>
    textOf(root, BLOCK_ELEMENTS[field])?.trim().toLowerCase() === "true"
  const block = {
    block_public_acls: is("block_public_acls"),
    ignore_public_acls: is("ignore_public_acls"),
    block_public_policy: is("block_public_policy"),
    restrict_public_buckets: is("restrict_public_buckets"),
  }
  await store.setSettings(place, bucket, { block }, "s3:PutBucketPublicAccessBlock")
  return { status: 200, body: undefined }
}

export const deleteBlock: S3Handler = async ({ store, place, bucket }) => {
  await store.setSettings(place, bucket, { block: null }, "s3:PutBucketPublicAccessBlock")
  return { status: 204, body: undefined }
}

const OWNERSHIPS: readonly Ownership[] = ["BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"]

export const readOwnership = (given: string | undefined): Ownership => {
  const known = OWNERSHIPS.find(ownership => ownership === given?.trim())
  if (!known) throw s3Fault("MalformedXML", `ObjectOwnership is one of ${OWNERSHIPS.join(", ")}`)
  return known
}

export const getOwnership: S3Handler = async ({ store, place, bucket }) => {
  const { ownership } = await store.findSettings(place, bucket, "s3:GetBucketOwnershipControls")
  if (!ownership) throw s3Fault("OwnershipControlsNotFoundError")
  return xml("OwnershipControls", [element("Rule", [text("ObjectOwnership", ownership)])])
}

export const setOwnership = (store: ObjectStore, place: Place, bucket: string, ownership: Ownership | null) =>
  store.setSettings(place, bucket, { ownership }, "s3:PutBucketOwnershipControls")

export const putOwnership: S3Handler = async ({ call, store, place, bucket }) => {
  const [rule] = childrenOf(await parseXml(await readBody(call), "OwnershipControls"), "Rule")
  await setOwnership(store, place, bucket, readOwnership(rule && textOf(rule, "ObjectOwnership")))
  return { status: 200, body: undefined }
}

export const deleteOwnership: S3Handler = async ({ store, place, bucket }) => {
  await setOwnership(store, place, bucket, null)
  return { status: 204, body: undefined }
}
