/** Canned access control lists, as S3 names them, and what each lets others do. */

export const CANNED_ACLS = [
  "private",
  "public-read",
  "public-read-write",
  "authenticated-read",
  "bucket-owner-read",
  "bucket-owner-full-control",
] as const
export type CannedAcl = (typeof CANNED_ACLS)[number]

export const isCannedAcl = (text: string): text is CannedAcl => CANNED_ACLS.some(acl => acl === text)

export type AclPermission = "READ" | "WRITE"

/** Whom a list lets in: everybody, or everybody who signs. */
export interface AclGrant {
  readonly group: "AllUsers" | "AuthenticatedUsers"
  readonly permission: AclPermission
}

const EVERYBODY_READS: AclGrant = { group: "AllUsers", permission: "READ" }

const GRANTS: Readonly<Partial<Record<CannedAcl, readonly AclGrant[]>>> = {
  "public-read": [EVERYBODY_READS],
  "public-read-write": [EVERYBODY_READS, { group: "AllUsers", permission: "WRITE" }],
  "authenticated-read": [{ group: "AuthenticatedUsers", permission: "READ" }],
}

/** Beside the owner, who may do everything. */
export const grantsOf = (acl: CannedAcl): readonly AclGrant[] => GRANTS[acl] ?? []

/** The list that has exactly these grants; undefined where none does. */
export const aclOf = (grants: readonly AclGrant[]): CannedAcl | undefined => {
  const names = (list: readonly AclGrant[]) =>
    [...new Set(list.map(({ group, permission }) => `${group} ${permission}`))].sort().join()
  const wanted = names(grants)
  return CANNED_ACLS.find(acl => names(grantsOf(acl)) === wanted)
}

/** What a permission on a bucket lets do in it, and what one on an object lets do with it (S3's table of both). */
const BUCKET_ACTIONS: Readonly<Record<AclPermission, ReadonlySet<string>>> = {
  READ: new Set(["s3:ListBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads"]),
  WRITE: new Set([
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
  ]),
}
const OBJECT_ACTIONS: ReadonlySet<string> = new Set(["s3:GetObject", "s3:GetObjectVersion"])

export interface AclQuestion {
  readonly acl: CannedAcl | undefined
  readonly of: "bucket" | "object"
  readonly action: string
  readonly isSigned: boolean
}

export const aclAllows = ({ acl = "private", of, action, isSigned }: AclQuestion): boolean =>
  grantsOf(acl).some(
    ({ group, permission }) =>
      (group === "AllUsers" || isSigned) &&
      (of === "bucket"
        ? BUCKET_ACTIONS[permission].has(action)
        : permission === "READ" && OBJECT_ACTIONS.has(action)),
  )
