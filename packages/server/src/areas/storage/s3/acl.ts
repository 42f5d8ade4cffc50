/** Access control lists: the canned ones by name, and as the grants that they stand for. */
import { checkAcl } from "../access/lists.ts"
import type { Place } from "../object-store.ts"
import { type AclGrant, aclOf, type CannedAcl, grantsOf, isCannedAcl } from "../rules/acl.ts"
import { readBody } from "./body.ts"
import { s3Fault } from "./errors.ts"
import { ownerOf, type S3Call, type S3Handler, type S3Request, xml } from "./request.ts"
import { readVersion, versionOf } from "./versions.ts"
import { element, text } from "./xml.ts"
import { childrenOf, parseXml, textOf } from "./xml-body.ts"

const GROUPS = "http://acs.amazonaws.com/groups/global/"

const grant = (type: "CanonicalUser" | "Group", grantee: readonly string[], permission: string): string =>
  element("Grant", [
    `<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="${type}">${grantee.join("")}</Grantee>`,
    text("Permission", permission),
  ])

const answerAcl = (request: S3Request, grants: readonly AclGrant[]) => {
  const owner = ownerOf(request)
  return xml("AccessControlPolicy", [
    element("Owner", owner),
    element("AccessControlList", [
      ...grants.map(({ group, permission }) => grant("Group", [text("URI", GROUPS + group)], permission)),
      grant("CanonicalUser", owner, "FULL_CONTROL"),
    ]),
  ])
}

/** The list that a header names; undefined without one. Lists of single grants are not kept. */
export const readAclHeader = ({ header, headerNames }: Pick<S3Call, "header" | "headerNames">) => {
  const named = header("x-amz-acl")
  const granted = headerNames().find(name => name.startsWith("x-amz-grant-"))
  if (granted !== undefined)
    throw s3Fault("NotImplemented", "grants to single users are not kept; a policy is")
  if (named === undefined) return undefined
  if (!isCannedAcl(named)) throw s3Fault("InvalidArgument", `${named} is no access control list`)
  return named
}

const readGrant = (node: Parameters<typeof textOf>[0], { projectId }: Place): AclGrant | "owner" => {
  const [grantee] = childrenOf(node, "Grantee")
  const permission = textOf(node, "Permission")?.trim()
  const uri = grantee && textOf(grantee, "URI")?.trim()
  const id = grantee && textOf(grantee, "ID")?.trim()
  if (id === projectId && permission === "FULL_CONTROL") return "owner"
  const group = uri?.startsWith(GROUPS) ? uri.slice(GROUPS.length) : undefined
  if (
    (group !== "AllUsers" && group !== "AuthenticatedUsers") ||
    (permission !== "READ" && permission !== "WRITE")
  )
    throw s3Fault("NotImplemented", "grants to single users are not kept; a policy is")
  return { group, permission }
}

/** By header, or as a document whose grants are those of a canned list. */
const readAcl = async ({ call, place }: S3Request): Promise<CannedAcl> => {
  const named = readAclHeader(call)
  if (named !== undefined) return named
  const root = await parseXml(await readBody(call), "AccessControlPolicy")
  const [list] = childrenOf(root, "AccessControlList")
  if (!list || childrenOf(root, "Owner").length === 0) throw s3Fault("MalformedACLError")
  const grants = childrenOf(list, "Grant").map(node => readGrant(node, place))
  const acl = aclOf(grants.filter(one => one !== "owner"))
  if (!acl) throw s3Fault("NotImplemented", "these grants are those of no canned list")
  return acl
}

/** The setting that makes a bucket public shows as what it is for its objects; its list stays closed. */
export const getAcl: S3Handler = async request => {
  const { store, place, bucket } = request
  const { isPublic } = await store.findBucket(place, bucket, "s3:GetBucketAcl")
  const { acl = "private" } = await store.findSettings(place, bucket, "s3:GetBucketAcl")
  return answerAcl(request, grantsOf(acl).length === 0 && isPublic ? grantsOf("public-read") : grantsOf(acl))
}

/** `private` also closes a bucket that a setting made public. */
export const putAcl: S3Handler = async request => {
  const { store, place, bucket } = request
  const acl = await readAcl(request)
  checkAcl(acl, await store.findSettings(place, bucket, "s3:PutBucketAcl"))
  await store.setSettings(place, bucket, { acl }, "s3:PutBucketAcl")
  if (acl === "private") await store.setBucketPublic(place, bucket, false)
  return { status: 200, body: undefined }
}

export const getObjectAcl: S3Handler = async request => {
  const { store, place, bucket, key, query } = request
  const object = await readVersion(versionOf(query), version =>
    store.find(place, bucket, key, version, "s3:GetObjectAcl"),
  )
  const { isPublic } = await store.findBucket(place, bucket, "s3:GetObjectAcl")
  const grants = grantsOf(object.acl ?? "private")
  return answerAcl(request, grants.length === 0 && isPublic ? grantsOf("public-read") : grants)
}

export const putObjectAcl: S3Handler = async request => {
  const { store, place, bucket, key, query } = request
  const acl = await readAcl(request)
  await readVersion(versionOf(query), version => store.setAcl(place, bucket, { key, version }, acl))
  return { status: 200, body: undefined }
}
