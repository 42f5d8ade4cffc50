/** Any server that speaks S3: one store for many machines, as durable as its operator made it. */
import {
  AbortMultipartUploadCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
} from "@aws-sdk/client-s3"
import { PortError } from "../../../port-error.ts"
import { guarded } from "../../guarded.ts"
import { startHashes } from "../../hashes.ts"
import type { BlobCondition, BlobPort, ListedBlob } from "../../port.ts"
import {
  asPortError,
  type Bucket,
  errorName,
  openBucket,
  rejectAsPortError,
  type S3Address,
} from "./client.ts"
import { hasSum, isAddress, parseBlobKey } from "./keys.ts"
import { openObject } from "./reading.ts"
import { createRemove, type Remove } from "./removing.ts"
import { createStage } from "./staging.ts"

export interface S3Options extends S3Address {
  /** How long the server may be silent before a call is `unavailable`. */
  readonly timeoutMs?: number
  /** Of these a write holds two in memory; a blob has at most 10,000. At least 5 MiB on Amazon's. */
  readonly partBytes?: number
}

const TIMEOUT_MS = 30_000
const PART_BYTES = 8 * 1024 * 1024
const HEALTH_MS_MAX = 2_000

async function* listBlobs({ client, bucket, blobsPrefix }: Bucket): AsyncGenerator<ListedBlob> {
  const all = { Bucket: bucket, Prefix: blobsPrefix }
  let token: string | undefined
  do {
    const from = token === undefined ? all : { ...all, ContinuationToken: token }
    const page = await client.send(new ListObjectsV2Command(from)).catch(rejectAsPortError)
    for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
      const blob = parseBlobKey(blobsPrefix, Key)
      if (blob && LastModified) yield { ...blob, bytes: Size, publishedAt: LastModified.getTime() }
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined
  } while (token !== undefined)
}

/** Uploads in parts that were begun before and not completed. */
async function* staleUploads({ client, bucket, blobsPrefix }: Bucket, before: number) {
  const all = { Bucket: bucket, Prefix: blobsPrefix }
  let from: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}
  while (from) {
    const page: ListMultipartUploadsCommandOutput = await client.send(
      new ListMultipartUploadsCommand({ ...all, ...from }),
    )
    for (const { Key = "", UploadId, Initiated } of page.Uploads ?? []) {
      const blob = parseBlobKey(blobsPrefix, Key)
      if (blob && UploadId && Initiated && Initiated.getTime() < before) yield { ...blob, Key, UploadId }
    }
    const { IsTruncated, NextKeyMarker, NextUploadIdMarker } = page
    from =
      IsTruncated && NextKeyMarker
        ? { KeyMarker: NextKeyMarker, ...(NextUploadIdMarker && { UploadIdMarker: NextUploadIdMarker }) }
        : undefined
  }
}

const sweepUploads = async (store: Bucket, remove: Remove, before: number): Promise<number> => {
  const { client, bucket } = store
  let swept = 0
  try {
    for await (const { owner, address, Key, UploadId } of staleUploads(store, before)) {
      const aborted = await client
        .send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }))
        .then(
          () => true,
          error => {
            if (errorName(error) !== "NoSuchUpload") throw error
            return false
          },
        )
      // One that is gone by now may have been completed, and then its sum is needed.
      if (!aborted) continue
      await remove([store.sumKey(owner, address)])
      swept += 1
    }
    return swept
  } catch (error) {
    throw asPortError(error)
  }
}

const readSum = async (store: Bucket, owner: string, address: string): Promise<string | undefined> => {
  try {
    const { stream } = await openObject(store, store.sumKey(owner, address))
    return Buffer.concat(await stream.toArray()).toString()
  } catch (error) {
    if (error instanceof PortError && error.kind === "missing") return undefined
    throw error
  }
}

const verifyObject = async (store: Bucket, owner: string, address: string): Promise<BlobCondition> => {
  try {
    const { stream, metadata } = await openObject(store, store.blobKey(owner, address))
    const hashes = startHashes()
    for await (const chunk of stream) hashes.update(chunk)
    const expected = hasSum(address) ? await readSum(store, owner, address) : metadata.sha256
    return hashes.digests().sha256.toString("hex") === expected ? "intact" : "damaged"
  } catch (error) {
    if (error instanceof PortError && error.kind === "missing") return "missing"
    throw error
  }
}

/** A server that is down now is an area degraded, not a failed start: nothing is asked of it here. */
export const openS3Blobs = async (options: S3Options): Promise<BlobPort> => {
  const store = openBucket(options, options.timeoutMs ?? TIMEOUT_MS)
  const remove = createRemove(store)

  return guarded({
    capabilities: { durable: "server", shared: true, contentAddressed: false },
    isAddress,
    stage: createStage(store, options.partBytes ?? PART_BYTES),
    read: async (owner, address, range) =>
      (await openObject(store, store.blobKey(owner, address), range)).stream,
    async remove(owner, addresses) {
      const distinct = [...new Set(addresses)]
      await remove(distinct.map(address => store.blobKey(owner, address)))
      await remove(distinct.filter(hasSum).map(address => store.sumKey(owner, address)))
    },
    verify: (owner, address) => verifyObject(store, owner, address),
    list: () => listBlobs(store),
    sweep: before => sweepUploads(store, remove, before),
    async health() {
      try {
        const abortSignal = AbortSignal.timeout(HEALTH_MS_MAX)
        await store.client.send(new HeadBucketCommand({ Bucket: store.bucket }), { abortSignal })
        return { ok: true }
      } catch (error) {
        return { ok: false, reason: asPortError(error).message }
      }
    },
    close: () => store[Symbol.dispose](),
  })
}
