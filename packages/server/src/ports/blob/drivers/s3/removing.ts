import { DeleteObjectCommand, DeleteObjectsCommand } from "@aws-sdk/client-s3"
import { PortError } from "../../../port-error.ts"
import { type Bucket, errorName, rejectAsPortError } from "./client.ts"

/** S3's limit. */
const BATCH_MAX = 1_000
const SINGLE_AT_ONCE = 8

/** What servers say that know no batches, or not with the checksum that comes with ours. */
const KNOWS_NO_BATCHES: ReadonlySet<string> = new Set([
  ...["NotImplemented", "MethodNotAllowed", "MalformedXML", "InvalidRequest", "InvalidArgument"],
  ...["MissingContentMD5", "InvalidDigest", "BadDigest"],
])

export type Remove = (keys: readonly string[]) => Promise<void>

export const createRemove = ({ client, bucket }: Bucket): Remove => {
  let hasBatches = true

  const removeSingly: Remove = async keys => {
    for (let at = 0; at < keys.length; at += SINGLE_AT_ONCE) {
      const some = keys.slice(at, at + SINGLE_AT_ONCE)
      await Promise.all(some.map(Key => client.send(new DeleteObjectCommand({ Bucket: bucket, Key }))))
    }
  }

  const removeBatch: Remove = async keys => {
    const Delete = { Quiet: true, Objects: keys.map(Key => ({ Key })) }
    const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete }))
    const failed = Errors.find(({ Code }) => Code !== "NoSuchKey")
    if (failed) throw new PortError("unavailable", `the blob server did not remove all: ${failed.Code}`)
  }

  return async keys => {
    for (let at = 0; at < keys.length; at += BATCH_MAX) {
      const some = keys.slice(at, at + BATCH_MAX)
      try {
        await (hasBatches ? removeBatch(some) : removeSingly(some)).catch(error => {
          if (!KNOWS_NO_BATCHES.has(errorName(error))) throw error
          hasBatches = false
          return removeSingly(some)
        })
      } catch (error) {
        rejectAsPortError(error)
      }
    }
  }
}
