/** Objects of public buckets, for those who bring no credentials. */
import type { BackgroundMeters } from "../../../core/meters/meters.ts"
import type { Tenants } from "../../../core/organizations/tenants.ts"
import type { AccountCall, Call } from "../../../kernel/call.ts"
import type { Database } from "../../../kernel/db/database.ts"
import { fault, isFault } from "../../../kernel/fault.ts"
import type { ObjectStore, Place } from "../object-store.ts"
import { bucketStore } from "../store/buckets.ts"
import { s3Fault } from "./errors.ts"
import { type Query, type S3Handler, type S3Request, s3CallOf } from "./request.ts"

export interface PublicNeeds {
  readonly store: ObjectStore
  readonly database: Database
  readonly tenants: Tenants
  readonly meters: BackgroundMeters
}

/** A bucket that is private, one that is not there and one of a deleted project are all refused like this. */
const denied = () => fault("missing_credentials")

/** Nothing is remembered, so that a bucket that was made private is closed in every process with that statement. */
const findPlace = async ({ database, tenants }: PublicNeeds, bucket: string): Promise<Place> => {
  const projectId = await bucketStore(database.db).projectOfPublicName(bucket)
  const place = projectId === undefined ? undefined : await tenants.find(projectId)
  if (!place) throw denied()
  return place
}

const checkQuery = (query: Query, closed: readonly string[]): void => {
  if (closed.some(name => Object.hasOwn(query, name))) throw denied()
  if (Object.keys(query).some(name => name.startsWith("response-")))
    throw s3Fault("InvalidRequest", "headers of the reply can be set by signed requests alone")
}

/** Only the object itself is public: `closed` names the fields of a query that ask for something else of it. */
export const publicReader =
  (needs: PublicNeeds, closed: readonly string[]) =>
  async (read: S3Handler, call: AccountCall, address: Pick<S3Request, "bucket" | "key" | "query">) => {
    const place = await findPlace(needs, address.bucket)
    checkQuery(address.query, closed)
    const owner = { organizationId: place.organization.id, projectId: place.projectId }
    const meter: Call["meter"] = (metric, quantity) =>
      needs.meters.count({ ...owner, metric, quantity, at: call.now })
    const request = { call: s3CallOf(call, address.query, meter), store: needs.store, place, ...address }
    return await read(request).catch(error => {
      throw isFault(error, "bucket_not_found") ? denied() : error
    })
  }
