/** Settings of a bucket as the JSON API takes them. */
import type { areas, Input } from "@svc/contract"
import { fault } from "../../../kernel/fault.ts"
import type { BucketSettings, SettingsChange } from "../object-store.ts"
import { type CannedAcl, grantsOf } from "../rules/acl.ts"
import { corsProblem } from "../rules/cors.ts"
import { lifecycleProblem } from "../rules/lifecycle.ts"
import { isPublicPolicy, PolicyProblem, readPolicy } from "../rules/policy.ts"
import { blockOf } from "./access.ts"

type Change = Omit<Input<(typeof areas.storage.specs)["updateBucket"]>, "name">

/** What S3 calls a change of each field. */
const ACTIONS: { readonly [Field in keyof Change]-?: string } = {
  public: "s3:PutBucketAcl",
  versioning: "s3:PutBucketVersioning",
  tags: "s3:PutBucketTagging",
  cors: "s3:PutBucketCORS",
  policy: "s3:PutBucketPolicy",
  acl: "s3:PutBucketAcl",
  public_access_block: "s3:PutBucketPublicAccessBlock",
  lifecycle: "s3:PutLifecycleConfiguration",
}

export const actionsOf = (change: Change): string[] =>
  (Object.keys(change) as (keyof Change)[]).map(field =>
    field === "policy" && change.policy === null ? "s3:DeleteBucketPolicy" : ACTIONS[field],
  )

export const isOpening = (acl: CannedAcl | null | undefined): boolean =>
  acl !== null && acl !== undefined && grantsOf(acl).length > 0

const invalid = (reason: string) => fault("invalid_parameter", { reason })

const readBucketPolicy = (bucket: string, policy: NonNullable<Change["policy"]>, before: BucketSettings) => {
  const written = JSON.stringify(policy)
  try {
    const isPublic = isPublicPolicy(readPolicy(written, bucket))
    if (isPublic && blockOf(before).block_public_policy)
      throw invalid("policy lets everybody in, which is blocked in this bucket")
    return written
  } catch (error) {
    throw error instanceof PolicyProblem ? invalid(`policy: ${error.message}`) : error
  }
}

/** Throws `invalid_parameter`. What is blocked is judged by the block that was there before. */
export const readChange = (bucket: string, change: Change, before: BucketSettings): SettingsChange => {
  const { cors, policy, acl, public_access_block: block, lifecycle } = change
  const problem = cors ? corsProblem(cors) : undefined
  if (problem !== undefined) throw invalid(`cors: ${problem}`)
  const flaw = lifecycle ? lifecycleProblem(lifecycle) : undefined
  if (flaw) throw invalid(`lifecycle: ${flaw.reason}`)
  if (isOpening(acl) && blockOf(before).block_public_acls)
    throw invalid("acl lets others in, which is blocked in this bucket")
  return {
    ...(cors !== undefined && { cors }),
    ...(policy !== undefined && { policy: policy && readBucketPolicy(bucket, policy, before) }),
    ...(acl !== undefined && { acl }),
    ...(block !== undefined && { block }),
    ...(lifecycle !== undefined && { lifecycle }),
  }
}
