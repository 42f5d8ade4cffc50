/** Why cases of ceph's s3-tests fail here. */

interface Failure {
  readonly name: string
  readonly message: string
}

export interface Results {
  readonly passed: number
  readonly skipped: number
  readonly failures: readonly Failure[]
}

export const UNEXPLAINED = "without an explanation: to be looked at"

interface Reason {
  readonly reason: string
  readonly names?: RegExp
  /** Calls that are answered with NotImplemented, as the message of a failure names them. */
  readonly calls?: readonly string[]
}

/** A failure's reason is the first that fits. */
const REASONS: readonly Reason[] = [
  {
    reason: "missing: server-side encryption by header and setting",
    names: /enc[_[]|encrypt|sse_|_s3_kms|kms_/,
  },
  { reason: "missing: object lock", names: /object_lock/ },
  {
    reason: "missing: grants to single users in access control lists",
    names:
      /acl_grant|header_acl_grants|put_obj_grant|acl_revoke|object_acl_(?:full_control|write|read)|object_acl$|acl_canned_bucketowner/,
    calls: ["PutBucketAcl", "PutObjectAcl"],
  },
  { reason: "missing: torrents", names: /torrent/ },
  { reason: "missing: signature version 2 in a header", names: /_aws2$|presigned_\w+_v2$/ },
  { reason: "ceph's own extensions", names: /account_usage|bucket_usage|head_extended|_unordered$/ },
  {
    reason: "decided otherwise: names of buckets belong to a project, and what is another's is 404",
    names: /create_exists_nonowner|copy_not_owned_bucket/,
  },
  {
    reason: "decided otherwise: a bucket that is there is 409, as in all of AWS's regions but one",
    names: /bucket_create_exists$|recreate_not_overriding|recreate_\w+_acl$/,
  },
  {
    reason: "decided otherwise: strangers are not told whether a bucket is there",
    names: /raw_get_bucket_gone/,
  },
  {
    reason: "decided otherwise: nothing is listed to anybody without credentials",
    names: /list_buckets_anonymous/,
  },
  {
    reason: "the suite differs from AWS: a wrong digest, range, token or time is another code there",
    names:
      /checksum_sha256$|checksum_crc64nvme$|copy_invalid_range|continuationtoken_empty|put_authenticated_expired|x_amz_expires_out|resend_first_finishes_last/,
  },
  {
    reason:
      "the suite differs from AWS: Prefix is escaped when asked for, us-east-1 is no location, a body has a length",
    names: /prefix_unreadable|bucket_get_location|chunked_transfer_encoding/,
  },
  {
    reason: "cases that ceph's own server fails: its client signs again, or sends what is not UTF-8",
    names: /bad_contentlength_none|bad_authorization_(?:empty|none)$|unicode_metadata|object_read_unreadable/,
  },
]

const reasonOf = ({ name, message }: Failure): string => {
  const call = /\(NotImplemented\) when calling the (\w+)/.exec(message)?.[1] ?? ""
  const found = REASONS.find(({ names, calls }) => names?.test(name) || calls?.includes(call))
  return found?.reason ?? UNEXPLAINED
}

export const groupFailures = (
  failures: readonly Failure[],
): readonly { readonly reason: string; readonly names: readonly string[] }[] => {
  const byReason = Map.groupBy(failures, reasonOf)
  return [...REASONS.map(({ reason }) => reason), UNEXPLAINED].flatMap(reason => {
    const names = byReason.get(reason)?.map(({ name }) => name)
    return names === undefined ? [] : [{ reason, names }]
  })
}

/** Reads what pytest wrote with `--junitxml`. */
export const readResults = (xml: string): Results => {
  const cases = xml.split("<testcase ").slice(1)
  const failures = cases.flatMap(text => {
    const message = /<(?:failure|error) message="([^"]*)"/.exec(text)?.[1]
    const name = / name="([^"]*)"/.exec(` ${text}`)?.[1] ?? ""
    return message === undefined ? [] : [{ name, message }]
  })
  const skipped = cases.filter(text => text.includes("<skipped")).length
  return { passed: cases.length - failures.length - skipped, skipped, failures }
}
