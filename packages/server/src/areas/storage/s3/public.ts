/** Buckets and objects that their owner opened, for those who bring no credentials. */
import type { BackgroundMeters } from "../../../core/meters/meters.ts"
import type { Tenants } from "../../../core/organizations/tenants.ts"
import type { AccountCall, Call } from "../../../kernel/call.ts"
import type { Database } from "../../../kernel/db/database.ts"
import { fault, isFault } from "../../../kernel/fault.ts"
import type { Accesses, BucketAccess } from "../access/access.ts"
import type { Stores } from "../access/callers.ts"
import type { Place } from "../object-store.ts"
import { bucketStore } from "../store/buckets.ts"
import { s3Fault } from "./errors.ts"
import { fieldOf, type Query, type S3Request, s3CallOf } from "./request.ts"
import { handlerOf, type Table } from "./tables.ts"

export interface PublicNeeds {
  readonly stores: Stores
  readonly accesses: Accesses
  readonly database: Database
  readonly tenants: Tenants
  readonly meters: BackgroundMeters
}

/** A bucket that is private, one that is not there and one of a deleted project are all refused like this. */
const denied = () => fault("missing_credentials")

/** Nothing is remembered, so that a bucket that was made private is closed in every process with that statement. */
export const createOpenBuckets =
  ({ database, tenants }: PublicNeeds) =>
  async (bucket: string): Promise<Place | undefined> => {
    const projectId = await bucketStore(database.db).projectOfPublicName(bucket)
    const place = projectId === undefined ? undefined : await tenants.find(projectId)
    // Lists name an owner. Strangers are not told what the organization is called.
    return place && { ...place, organization: { ...place.organization, name: "" } }
  }

/** What strangers read and write is on the owner's account. */
export const ownersMeter =
  ({ meters }: Pick<PublicNeeds, "meters">, { organization, projectId }: Place, at: Date): Call["meter"] =>
  (metric, quantity) =>
    meters.count({ organizationId: organization.id, projectId, metric, quantity, at })

const checkQuery = (query: Query, closed: readonly string[]): void => {
  if (closed.some(name => Object.hasOwn(query, name))) throw denied()
  if (Object.keys(query).some(name => name.startsWith("response-")))
    throw s3Fault("InvalidRequest", "headers of the reply can be set by signed requests alone")
}

interface Asked {
  readonly table: Table
  /** Fields of a query that ask for what is not for anybody. */
  readonly closed?: readonly string[] | undefined
  readonly told: (access: BucketAccess) => void
}

export const createPublicAnswer =
  (needs: PublicNeeds, findOpen: (bucket: string) => Promise<Place | undefined>) =>
  async (
    { table, closed = [], told }: Asked,
    call: AccountCall,
    address: Pick<S3Request, "bucket" | "key" | "query">,
  ) => {
    const { bucket, query } = address
    const place = await findOpen(bucket)
    const access = place && (await needs.accesses.findNow(place.projectId, bucket))
    if (!place || !access) throw denied()
    told(access)
    call.describe({ tenantId: place.organization.id })
    checkQuery(query, closed)
    const store = needs.stores.storeFor(call, "anybody", place.projectId, name => fieldOf(query, name))
    const meter = ownersMeter(needs, place, call.now)
    const { lifecycle } = access.settings
    const request = { call: s3CallOf(call, query, meter), store, place, lifecycle, ...address }
    return await handlerOf(
      table,
      query,
    )(request).catch(error => {
      throw isFault(error, "bucket_not_found") ? denied() : error
    })
  }
