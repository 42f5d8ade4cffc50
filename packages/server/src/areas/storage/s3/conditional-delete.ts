/** Deleting an object only while it has a size, a time or a tag. */
import { fault, isFault } from "../../../kernel/fault.ts"
import type { Conditions } from "../object-store.ts"
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

/** What is not there is deleted already, whatever size or time it should have had. */
export const removeIf = async (
  { store, place, bucket }: Pick<S3Request, "store" | "place" | "bucket">,
  key: string,
  { size, lastModified, ...conditions }: DeleteConditions,
): Promise<void> => {
  if (size === undefined && lastModified === undefined) {
    await store.remove(place, bucket, [key], conditions)
    return
  }
  const found = await store.find(place, bucket, key).catch(error => {
    if (isFault(error, "object_not_found")) return undefined
    throw error
  })
  if (!found) return
  const isOther =
    (size !== undefined && found.size !== size) ||
    (lastModified !== undefined && seconds(found.lastModified) !== seconds(lastModified))
  if (isOther) throw fault("precondition_failed")
  const { ifMatch = ["*"] } = conditions
  // The object that was looked at, and no other that took its place since.
  const isNamed = ifMatch.includes("*") || ifMatch.includes(found.etag)
  await store.remove(place, bucket, [key], { ...conditions, ifMatch: isNamed ? [found.etag] : ifMatch })
}
