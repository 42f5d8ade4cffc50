import { openAsBlob } from "node:fs"
import { Readable } from "node:stream"
import type { Svc } from "@svc/sdk"
import type { Remote } from "./address.ts"
import { contentTypeOf } from "./content-types.ts"
import { each } from "./each.ts"
import type { Progress } from "./progress.ts"

/** Files from this size on are sent in parts, several at once. */
const WHOLE_BYTES_MAX = 64 * 1024 ** 2
const PART_BYTES_MIN = 16 * 1024 ** 2
const PARTS_MAX = 10_000
const PARTS_AT_ONCE = 4
/** Of one request; the platform itself ends one that stands still. */
const TIMEOUT_MS = 24 * 3_600_000

const options = { timeoutMs: TIMEOUT_MS }

export const uploadFile = async (svc: Svc, path: string, to: Remote, progress: Progress): Promise<void> => {
  const file = await openAsBlob(path)
  const { bucket, key } = to
  if (file.size > WHOLE_BYTES_MAX) return uploadInParts(svc, path, file, to, progress)
  const headers = { "content-type": contentTypeOf(path) }
  await svc.storage.putObject({ bucket, key }, { ...options, body: file, headers })
  progress.moved(file.size)
}

/** Standard input has an unknown length and cannot be read again, so it goes in one request, once. */
export const uploadPipe = async (
  svc: Svc,
  stdin: Readable,
  { bucket, key }: Remote,
  progress: Progress,
): Promise<void> => {
  stdin.on("data", (chunk: Buffer) => progress.moved(chunk.length)).pause()
  const body = Readable.toWeb(stdin) as unknown as ReadableStream<Uint8Array>
  const headers = { "content-type": contentTypeOf(key) }
  await svc.storage.putObject({ bucket, key }, { ...options, body, headers })
}

const uploadInParts = async (
  svc: Svc,
  path: string,
  file: Blob,
  { bucket, key }: Remote,
  progress: Progress,
) => {
  const partBytes = Math.max(PART_BYTES_MIN, Math.ceil(file.size / PARTS_MAX))
  const numbers = Array.from({ length: Math.ceil(file.size / partBytes) }, (_, at) => at + 1)
  const { upload_id } = await svc.storage.createMultipart({
    bucket,
    key,
    http_metadata: { content_type: contentTypeOf(path) },
  })
  try {
    const parts: { part_number: number; etag: string }[] = []
    await each(numbers, PARTS_AT_ONCE, async part_number => {
      const body = file.slice((part_number - 1) * partBytes, part_number * partBytes)
      const { etag } = await svc.storage.putPart({ upload_id, part_number }, { ...options, body })
      parts.push({ part_number, etag })
      progress.moved(body.size)
    })
    parts.sort((a, b) => a.part_number - b.part_number)
    await svc.storage.completeMultipart({ upload_id, parts }, options)
  } catch (error) {
    // The first failure is what the person has to see; an upload left behind expires by itself.
    await svc.storage.abortMultipart({ upload_id }).catch(() => undefined)
    throw error
  }
}
