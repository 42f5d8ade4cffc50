/** Who may do what in a bucket: its policy, its access control lists, and what closes both. */
import type { Principal } from "../../../kernel/call.ts"
import type { Changes } from "../../../kernel/db/changes.ts"
import type { Database } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { createPushedCache } from "../../../kernel/pushed-cache.ts"
import type { BucketSettings, ObjectRecord, PublicAccessBlock } from "../object-store.ts"
import { aclAllows } from "../rules/acl.ts"
import { decide, isPublicPolicy, type Policy, readPolicy } from "../rules/policy.ts"
import { BUCKET_TOPIC, type FoundSettings, findSettings } from "../store/bucket-settings.ts"

const CACHED_MAX = 10_000
const UUID_LENGTH = 36

export interface BucketAccess {
  readonly name: string
  readonly isPublic: boolean
  readonly settings: BucketSettings
  readonly policy: Policy | undefined
}

/** Values of condition keys, by their names in lower case. */
export type ConditionValues = (key: string) => readonly string[] | undefined

export interface Caller {
  /** `owner`: with credentials of the bucket's project, whose scopes were judged already. `other`: of another one. */
  readonly kind: "owner" | "other" | "anybody"
  readonly isPerson: boolean
  /** What policies call the caller. */
  readonly principals: readonly string[]
  readonly valuesOf: ConditionValues
}

export interface Question {
  /** `s3:GetObject` */
  readonly action: string
  readonly key?: string | undefined
  /** Once it is known: conditions may be about its tags, and it may have a list of its own. */
  readonly object?: ObjectRecord | undefined
  /** Of an object that is being put: whoever may put it by the bucket's list may say who reads it. */
  readonly isNew?: boolean
}

const OPEN: PublicAccessBlock = {
  block_public_acls: false,
  ignore_public_acls: false,
  block_public_policy: false,
  restrict_public_buckets: false,
}

export const blockOf = ({ block }: BucketSettings): PublicAccessBlock => block ?? OPEN

/** An account's keys, and one key or person of it. */
export const principalsOf = ({ id }: Pick<Principal, "id">, projectId: string): string[] => [
  ...[projectId, `arn:aws:iam::${projectId}:root`],
  ...[id, `arn:aws:iam::${projectId}:user/${id}`],
]

const EXISTING_TAG = "s3:existingobjecttag/"

/** Names of tags are compared with their case, which the names of other condition keys are without. */
const tagOf = ({ tags }: ObjectRecord, name: string): readonly string[] | undefined => {
  const found = Object.entries(tags).find(([tag]) => tag.toLowerCase() === name)
  return found && [found[1]]
}

const judgePolicy = (access: BucketAccess, caller: Caller, { action, key, object }: Question) => {
  if (!access.policy) return "silent"
  const valuesOf: ConditionValues = name =>
    name.startsWith(EXISTING_TAG)
      ? object && tagOf(object, name.slice(EXISTING_TAG.length))
      : caller.valuesOf(name)
  const resource = key === undefined ? access.name : `${access.name}/${key}`
  return decide(access.policy, { principals: caller.principals, action, resource, valuesOf })
}

/** What anybody may do in a bucket that its owner made public by the setting of that name. */
const OF_PUBLIC: ReadonlySet<string> = new Set(["s3:GetObject"])

/** A policy that denies everything must not be for ever: a person of the organization can take it away. */
const isMending = ({ isPerson }: Caller, action: string) => isPerson && action.endsWith("BucketPolicy")

const allowsOthers = (access: BucketAccess, caller: Caller, question: Question): boolean => {
  const { settings, isPublic } = access
  const { object, isNew = false } = question
  const action = isNew ? "s3:PutObject" : question.action
  const block = blockOf(settings)
  if (isPublic && !block.restrict_public_buckets && OF_PUBLIC.has(action)) return true
  if (block.ignore_public_acls || settings.ownership === "BucketOwnerEnforced") return false
  const asked = { action, isSigned: caller.kind === "other" }
  return (
    aclAllows({ ...asked, acl: settings.acl, of: "bucket" }) ||
    aclAllows({ ...asked, acl: object?.acl, of: "object" })
  )
}

const isRestricted = ({ settings, policy }: BucketAccess): boolean =>
  blockOf(settings).restrict_public_buckets && policy !== undefined && isPublicPolicy(policy)

export const allows = (access: BucketAccess, caller: Caller, question: Question): boolean => {
  const judged = judgePolicy(access, caller, question)
  if (judged === "deny") return caller.kind === "owner" && isMending(caller, question.action)
  if (caller.kind === "owner") return true
  if (judged === "allow" && !isRestricted(access)) return true
  return allowsOthers(access, caller, question)
}

/** Whoever has no credentials is asked for some; nobody is told whether the bucket is there. */
export const denied = ({ kind }: Caller) =>
  kind === "anybody" ? fault("missing_credentials") : fault("bucket_access_denied")

const toAccess = (name: string, { isPublic, settings }: FoundSettings): BucketAccess => ({
  ...{ name, isPublic, settings },
  policy: settings.policy === undefined ? undefined : readPolicy(settings.policy, name),
})

export interface Accesses {
  /** Undefined where there is no such bucket. From memory for the keys of its project. */
  find(projectId: string, bucket: string): BucketAccess | undefined | Promise<BucketAccess | undefined>
  /** As it is at this moment in all processes. */
  findNow(projectId: string, bucket: string): Promise<BucketAccess | undefined>
}

export const createAccesses = (needs: {
  readonly database: Database
  readonly changes: Changes
}): Accesses => {
  const { db } = needs.database
  const findNow = async (projectId: string, bucket: string) => {
    const found = await findSettings(db, projectId, bucket)
    return found && toAccess(bucket, found)
  }
  const known = createPushedCache<BucketAccess | undefined>({
    changes: needs.changes,
    topics: { [BUCKET_TOPIC]: "all" },
    read: key => findNow(key.slice(0, UUID_LENGTH), key.slice(UUID_LENGTH)),
    idOf: () => undefined,
    entriesMax: CACHED_MAX,
  })
  return { findNow, find: (projectId, bucket) => known.find(projectId + bucket) }
}
