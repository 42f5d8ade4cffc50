import { randomUUID } from "node:crypto"
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3"
import { PortError } from "../../../port-error.ts"
import { startHashes } from "../../hashes.ts"
import { inBackground } from "../../in-background.ts"
import type { BlobPort, StagedBlob } from "../../port.ts"
import { drain } from "../../source.ts"
import { type Bucket, errorName, rejectAsPortError } from "./client.ts"
import { PARTS_SUFFIX } from "./keys.ts"

/** S3's limit. */
const PARTS_MAX = 10_000

/** What waits for `publish`. */
interface Upload {
  /** Puts it in its place; may be called again. */
  complete(sha256: string): Promise<void>
  /** Never rejects. */
  abandon(): Promise<void>
}

/** An upload in parts of equal length, as some servers want them, each sent while the next one is collected. */
const startMultipart = (store: Bucket, owner: string, address: string) => {
  const { client, bucket } = store
  const at = { Bucket: bucket, Key: store.blobKey(owner, address) }
  const sum = { Bucket: bucket, Key: store.sumKey(owner, address) }
  const tags: (string | undefined)[] = []
  const abandoned = new AbortController()
  let sending: Promise<unknown> = Promise.resolve()
  let uploadId: string | undefined

  const sendPart = async (body: Buffer, partNumber: number): Promise<void> => {
    const part = { ...at, UploadId: uploadId, PartNumber: partNumber, Body: body }
    const sent = await client.send(new UploadPartCommand(part), { abortSignal: abandoned.signal })
    tags[partNumber - 1] = sent.ETag
  }

  /** An answer that got lost may have been a yes; keys are used once, so what is there is ours. */
  const isComplete = (): Promise<boolean> =>
    client.send(new HeadObjectCommand(at)).then(
      () => true,
      () => false,
    )

  return {
    async add(body: Buffer): Promise<void> {
      try {
        uploadId ??= (await client.send(new CreateMultipartUploadCommand(at))).UploadId
        await sending
      } catch (error) {
        rejectAsPortError(error)
      }
      tags.push(undefined)
      sending = inBackground(sendPart(body, tags.length))
    },
    sent: () => sending.catch(rejectAsPortError),
    /** The sum comes first, so that whatever is readable can be verified. */
    async complete(sha256: string): Promise<void> {
      await client.send(new PutObjectCommand({ ...sum, Body: sha256 }))
      const parts = tags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }))
      const upload = { ...at, UploadId: uploadId, MultipartUpload: { Parts: parts } }
      await client.send(new CompleteMultipartUploadCommand(upload)).catch(async error => {
        if (errorName(error) !== "NoSuchUpload" || !(await isComplete())) throw error
      })
    },
    async abandon(): Promise<void> {
      abandoned.abort()
      await sending.catch(() => undefined)
      if (uploadId === undefined) return
      await client.send(new AbortMultipartUploadCommand({ ...at, UploadId: uploadId })).catch(() => undefined)
      await client.send(new DeleteObjectCommand(sum)).catch(() => undefined)
    },
  } satisfies Upload & Record<string, unknown>
}

/** Nothing is sent before `publish`, because a server shows at once what it was given in one piece. */
const heldUpload = (
  { client, bucket, blobKey }: Bucket,
  owner: string,
  address: string,
  body: Buffer,
): Upload => ({
  async complete(sha256) {
    const Key = blobKey(owner, address)
    await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: body, Metadata: { sha256 } }))
  },
  abandon: () => Promise.resolve(),
})

const stagedBlob = (
  blob: Omit<StagedBlob, "publish" | "discard">,
  upload: Upload,
  sha256: string,
): StagedBlob => {
  let state: "staged" | "published" | "discarded" = "staged"
  return {
    ...blob,
    async publish() {
      if (state === "published") return
      if (state === "discarded") throw new PortError("refused", "it was discarded")
      await upload.complete(sha256).catch(rejectAsPortError)
      state = "published"
    },
    async discard() {
      if (state !== "staged") return
      state = "discarded"
      await upload.abandon()
    },
  }
}

/** Collects chunks, and cuts parts of exactly `partBytes` from them as long as more is there. */
const createCollector = (partBytes: number) => {
  let chunks: Uint8Array[] = []
  let bytes = 0
  return {
    add(chunk: Uint8Array) {
      chunks.push(chunk)
      bytes += chunk.length
    },
    hasPart: () => bytes > partBytes,
    takePart(): Buffer {
      const last = chunks.at(-1) ?? new Uint8Array()
      const rest = last.subarray(last.length - (bytes - partBytes))
      const part = Buffer.concat(chunks, partBytes)
      chunks = [rest]
      bytes = rest.length
      return part
    },
    takeRest: () => Buffer.concat(chunks, bytes),
  }
}

export const createStage =
  (store: Bucket, partBytes: number): BlobPort["stage"] =>
  async (owner, source, { hashes: names = [], bytesMax, ...options }) => {
    const id = randomUUID()
    const hashes = startHashes(names)
    const collector = createCollector(partBytes)
    const multipart = startMultipart(store, owner, id + PARTS_SUFFIX)
    let isMultipart = false

    const sendParts = async (): Promise<void> => {
      isMultipart = true
      while (collector.hasPart()) await multipart.add(collector.takePart())
    }
    try {
      const limits = { ...options, bytesMax: Math.min(bytesMax, partBytes * PARTS_MAX) }
      const bytes = await drain(source, limits, chunk => {
        hashes.update(chunk)
        collector.add(chunk)
        return collector.hasPart() ? sendParts() : undefined
      })
      if (isMultipart) {
        await multipart.add(collector.takeRest())
        await multipart.sent()
      }
      const { sha256, asked } = hashes.digests()
      const address = isMultipart ? id + PARTS_SUFFIX : id
      const upload = isMultipart ? multipart : heldUpload(store, owner, address, collector.takeRest())
      return stagedBlob({ address, bytes, hashes: asked }, upload, sha256.toString("hex"))
    } catch (error) {
      await multipart.abandon()
      throw error
    }
  }
