/** tus-js-client as it comes: in one piece, in chunks, taken up again, and in parallel. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { Upload, type UploadOptions } from "tus-js-client"
import type { Access, Cases } from "./case.ts"

const MIB = 1024 ** 2
const BUCKET = "tus"

export const tusCases = ({ endpoint, apiKey }: Access): Cases => {
  const { origin } = new URL(endpoint)
  const headers = { authorization: `Bearer ${apiKey}` }
  const body = randomBytes(12 * MIB + 17)
  const buckets = `${origin}/v1/storage/buckets`

  const uploading = (key: string, options: Partial<UploadOptions>, onStart?: (upload: Upload) => void) =>
    new Promise<void>((resolve, reject) => {
      const upload = new Upload(body as never, {
        endpoint: `${origin}/v1/storage/uploads`,
        retryDelays: null,
        headers,
        metadata: { bucket: BUCKET, key },
        onError: reject,
        onSuccess: () => resolve(),
        ...options,
      })
      onStart?.(upload)
      upload.start()
    })

  const assertStored = async (key: string) => {
    const response = await fetch(`${buckets}/${BUCKET}/objects/${key}`, { headers })
    assert.equal(response.status, 200)
    assert.ok(body.equals(Buffer.from(await response.arrayBuffer())), "the object differs")
  }

  /** Stops after the first chunk; resolves to the address of what has begun. */
  const interrupted = (key: string) =>
    new Promise<string>((resolve, reject) => {
      const begun = uploading(key, { chunkSize: MIB }, upload => {
        upload.options.onChunkComplete = () =>
          void upload.abort().then(() => resolve(upload.url ?? ""), reject)
      })
      begun.catch(reject)
    })

  return {
    "in one piece": async () => {
      const made = await fetch(buckets, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ name: BUCKET }),
      })
      assert.equal(made.status, 201)
      await uploading("whole", {})
      await assertStored("whole")
    },
    "in chunks": async () => {
      await uploading("chunks", { chunkSize: 5 * MIB })
      await assertStored("chunks")
    },
    "with the first chunk in the POST": async () => {
      await uploading("with-creation", { chunkSize: 5 * MIB, uploadDataDuringCreation: true })
      await assertStored("with-creation")
    },
    "with a length that is told late": async () => {
      await uploading("deferred", { chunkSize: 5 * MIB, uploadLengthDeferred: true })
      await assertStored("deferred")
    },
    "taken up again": async () => {
      await uploading("resumed", { uploadUrl: await interrupted("resumed") })
      await assertStored("resumed")
    },
    parallelUploads: async () => {
      await uploading("parallel", { parallelUploads: 4 })
      await assertStored("parallel")
    },
    "parallelUploads in chunks": async () => {
      await uploading("parallel-chunks", { parallelUploads: 3, chunkSize: MIB })
      await assertStored("parallel-chunks")
    },
  }
}
