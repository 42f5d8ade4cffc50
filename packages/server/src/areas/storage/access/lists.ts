/** Which access control lists a bucket takes. */
import type { BucketSettings } from "../object-store.ts"
import { type CannedAcl, grantsOf } from "../rules/acl.ts"
import { s3Fault } from "../s3/errors.ts"
import { blockOf } from "./access.ts"

/** Refuses a list that the bucket does not take. */
export const checkAcl = (acl: CannedAcl | undefined, settings: BucketSettings): void => {
  if (acl === undefined) return
  const isOpening = grantsOf(acl).length > 0
  if (isOpening && blockOf(settings).block_public_acls)
    throw s3Fault("AccessDenied", "public access control lists are blocked in this bucket")
  if (settings.ownership === "BucketOwnerEnforced" && acl !== "bucket-owner-full-control")
    throw s3Fault("AccessControlListNotSupported")
}
