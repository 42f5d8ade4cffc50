/**
 * AWS Signature Version 2 in the query of a URL: what boto3, the first AWS command line and s3cmd still make by default
 * when they presign for us-east-1.
 *
 * Source: "Signing and Authenticating REST Requests (AWS Signature Version 2)" of the S3 API reference.
 */
import { createHmac } from "node:crypto"
import { fault } from "../../kernel/fault.ts"
import { parseQuery, type SignableRequest, splitTarget } from "./sigv4.ts"

/** What a URL says of its signature. */
export interface QueryClaim {
  readonly accessKeyId: string
  readonly expiresMs: number
  /** As it is signed: whole seconds since the epoch. */
  readonly expires: string
  /** Base64. */
  readonly signature: string
}

export interface NamedRequest extends SignableRequest {
  headerNames(): readonly string[]
  /** The bucket, which is signed as the beginning of the path even where it stands in the host name. */
  readonly bucket: string
}

/** Fields of the query that are part of what is signed. */
const SIGNED_FIELDS: ReadonlySet<string> = new Set([
  ...["accelerate", "acl", "cors", "defaultObjectAcl", "delete", "lifecycle", "location", "logging"],
  ...["notification", "partNumber", "policy", "requestPayment", "restore", "select", "select-type"],
  ...["storageClass", "tagging", "torrent", "uploadId", "uploads", "versionId", "versioning", "versions"],
  ...["website", "replication", "analytics", "metrics", "inventory", "encryption", "object-lock"],
  ...["retention", "legal-hold", "attributes", "publicAccessBlock", "ownershipControls", "policyStatus"],
  ...["response-cache-control", "response-content-disposition", "response-content-encoding"],
  ...["response-content-language", "response-content-type", "response-expires"],
])

const malformed = (reason: string) => fault("signature_malformed", { reason })

/** Whether the query carries a signature of this version, rightly or not. */
export const isQuerySigned = (target: string): boolean =>
  /(?:^|&)AWSAccessKeyId=/.test(splitTarget(target)[1])

export const readQueryClaim = ({ target }: SignableRequest): QueryClaim => {
  const query = parseQuery(splitTarget(target)[1])
  const value = (name: string): string => {
    const values = query.filter(([given]) => given === name)
    if (values.length > 1) throw malformed(`${name} is there twice`)
    return values[0]?.[1] ?? ""
  }
  const expires = value("Expires")
  if (!/^\d{1,12}$/.test(expires)) throw malformed("Expires must be whole seconds since 1970")
  return {
    accessKeyId: value("AWSAccessKeyId"),
    expires,
    expiresMs: Number(expires) * 1000,
    // A plus that was not escaped was read as a blank.
    signature: value("Signature").replaceAll(" ", "+"),
  }
}

const compare = ([a]: readonly [string, string], [b]: readonly [string, string]): number =>
  a < b ? -1 : a > b ? 1 : 0

const signedFields = (query: readonly (readonly [string, string])[]): string => {
  const fields = query.filter(([name]) => SIGNED_FIELDS.has(name)).sort(compare)
  const pairs = fields.map(([name, value]) => (value === "" ? name : `${name}=${value}`))
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`
}

/** Paths that clients sign for one object: with the path of their endpoint, without it, and with the bucket of the host. */
const signedPaths = (path: string, bucket: string): ReadonlySet<string> =>
  new Set([path, path.replace(/^\/s3(?=\/|$)/, "") || "/", `/${bucket}${path}`])

/** Every signature that is right for the request; they differ only in how the same path may be written. */
export const querySignaturesOf = (
  request: NamedRequest,
  { expires }: QueryClaim,
  secretAccessKey: string,
): string[] => {
  const [path, rawQuery] = splitTarget(request.target)
  const query = parseQuery(rawQuery)
  const inQuery = (name: string) => query.find(([given]) => given.toLowerCase() === name)?.[1]
  const amazon = new Map<string, string>()
  for (const name of request.headerNames())
    if (name.startsWith("x-amz-")) amazon.set(name, request.header(name) ?? "")
  for (const [name, value] of query)
    if (name.toLowerCase().startsWith("x-amz-")) amazon.set(name.toLowerCase(), value)
  const headers = [...amazon].sort(compare).map(([name, value]) => `${name}:${value.trim()}\n`)
  const before = [
    request.method,
    inQuery("content-md5") ?? request.header("content-md5") ?? "",
    inQuery("content-type") ?? request.header("content-type") ?? "",
    expires,
    headers.join(""),
  ].join("\n")
  return [...signedPaths(path, request.bucket)].map(signed =>
    createHmac("sha1", secretAccessKey)
      .update(before + signed + signedFields(query))
      .digest("base64"),
  )
}
