/** Deleting an object only while it has a size, a time or a tag. */
import { fault, isFault } from "../../../kernel/fault.ts"
import type { Conditions, NamedVersion, ObjectRecord, RemovedVersion } from "../object-store.ts"
import { s3Fault } from "./errors.ts"
import type { S3Request } from "./request.ts"

export interface DeleteConditions extends Conditions {
  readonly size?: number
  readonly lastModified?: Date
}

/** As headers or elements say them; one that cannot be understood is refused, for passed over it would delete. */
export const readDeleteConditions = (
  size: string | undefined,
  lastModified: string | undefined,
): Pick<DeleteConditions, "size" | "lastModified"> => {
  if (size !== undefined && !/^\d{1,15}$/.test(size.trim()))
    throw s3Fault("InvalidArgument", "the size that an object must have is a whole number")
  const ms = lastModified === undefined ? 0 : Date.parse(lastModified)
  if (Number.isNaN(ms)) throw s3Fault("InvalidArgument", "the time that an object must have is no date")
  return {
    ...(size !== undefined && { size: Number(size) }),
    ...(lastModified !== undefined && { lastModified: new Date(ms) }),
  }
}

/** Clients say times in whole seconds. */
const seconds = (time: Date): number => Math.floor(time.getTime() / 1000)

/** Whether the object is none of those that may be deleted. */
const isOther = (found: ObjectRecord, { size, lastModified }: DeleteConditions): boolean =>
  (size !== undefined && found.size !== size) ||
  (lastModified !== undefined && seconds(found.lastModified) !== seconds(lastModified))

/** What is not there is deleted already, whatever size or time it should have had. */
export const removeIf = async (
  { store, place, bucket }: Pick<S3Request, "store" | "place" | "bucket">,
  named: NamedVersion,
  asked: DeleteConditions,
): Promise<RemovedVersion | undefined> => {
  const { size, lastModified, ...conditions } = asked
  const isOfVersion = named.version !== undefined && Object.keys(asked).length > 0
  if (!isOfVersion && size === undefined && lastModified === undefined)
    return (await store.removeVersions(place, bucket, [named], conditions))[0]
  const found = await store.find(place, bucket, named.key, named.version).catch(error => {
    if (isFault(error, "object_not_found")) return undefined
    throw error
  })
  if (!found) return undefined
  const { ifMatch = ["*"] } = conditions
  const isNamed = ifMatch.includes("*") || ifMatch.includes(found.etag)
  if (isOther(found, asked) || (isOfVersion && !isNamed)) throw fault("precondition_failed")
  // A version never changes. Of the newest: the object that was looked at, and no other that took its place since.
  const still = isOfVersion ? {} : { ...conditions, ifMatch: isNamed ? [found.etag] : ifMatch }
  return (await store.removeVersions(place, bucket, [named], still))[0]
}
