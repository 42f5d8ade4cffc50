import { type areas, BUCKET_TAGS_MAX, type Input, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Accesses } from "./access/access.ts"
import type { Stores } from "./access/callers.ts"
import { actionsOf, isOpening, readChange } from "./access/changes.ts"
import { bucketPayload, placeOf } from "./payloads.ts"
import type { Quota } from "./quota.ts"
import { checkBucketName } from "./rules/names.ts"
import { tagProblem } from "./rules/tags.ts"
import { BUCKET_TOPIC, changeSettings } from "./store/bucket-settings.ts"
import { bucketStore } from "./store/buckets.ts"

type Operations = typeof areas.storage.specs

export interface BucketHandlerNeeds {
  readonly database: Database
  readonly quota: Quota
  readonly baseUrl: string
  readonly accesses: Accesses
  readonly stores: Stores
  readonly changes: Changes
}

const note = (call: Call, name: string) => call.describe({ targets: [{ type: "bucket", id: name, name }] })

/** The statements run on the call's transaction: a bucket and its audit entry exist together or not at all. */
export const bucketHandlers = ({ quota, baseUrl, accesses, stores, changes }: BucketHandlerNeeds) => ({
  async listBuckets(input: Input<Operations["listBuckets"]>, { db, owner }: Call) {
    const { rows, total } = await bucketStore(db).list(owner, pageOf(input))
    return page({ rows: rows.map(row => bucketPayload(row, baseUrl)), total }, input)
  },

  async createBucket({ name, public: isPublic = false }: Input<Operations["createBucket"]>, call: Call) {
    checkBucketName(name)
    note(call, name)
    const made = await bucketStore(call.db).create(placeOf(call), { name, isPublic, now: call.now })
    return bucketPayload(made, baseUrl)
  },

  async getBucket({ name }: Input<Operations["getBucket"]>, { db, owner }: Call) {
    return bucketPayload(await bucketStore(db).find(owner, name), baseUrl)
  },

  async updateBucket({ name, ...change }: Input<Operations["updateBucket"]>, call: Call) {
    const buckets = bucketStore(call.db)
    const { public: isPublic, versioning, tags } = change
    const access = await accesses.findNow(call.owner, name)
    for (const action of actionsOf(change)) stores.check(call, access, action)
    const settings = readChange(name, change, access?.settings ?? {})
    call.describe({ targets: [{ type: "bucket", id: name, name }], metadata: change })
    const problem = tags && tagProblem(Object.entries(tags), BUCKET_TAGS_MAX)
    if (problem !== undefined) throw fault("invalid_parameter", { reason: problem })
    if (versioning !== undefined) await buckets.setVersioning(call.owner, name, versioning)
    if (isPublic !== undefined) await buckets.setPublic(call.owner, name, isPublic)
    if (tags !== undefined) await buckets.setTags(call.owner, name, tags)
    const opens = typeof settings.policy === "string" || isOpening(settings.acl)
    await changeSettings({ db: call.db, changes }, { projectId: call.owner, name, opens }, settings)
    return bucketPayload(await buckets.find(call.owner, name), baseUrl)
  },

  async deleteBucket({ name }: Input<Operations["deleteBucket"]>, call: Call) {
    note(call, name)
    stores.check(call, await accesses.findNow(call.owner, name), "s3:DeleteBucket")
    await changes.invalidate(call.db, BUCKET_TOPIC, call.owner)
    await bucketStore(call.db).remove(call.owner, name, call.now)
    return { name, deleted: true as const }
  },

  async usage(_input: Input<Operations["usage"]>, { db, owner, organization }: Call) {
    const buckets = bucketStore(db)
    const included = quota.included(organization)
    return {
      ...(await buckets.usage(owner)),
      organization_bytes: await buckets.bytesOf(organization.id),
      included_bytes: included.bytes,
      can_exceed: included.canExceed,
    }
  },
})
