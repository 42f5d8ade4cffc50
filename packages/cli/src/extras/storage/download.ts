import { createWriteStream } from "node:fs"
import { mkdir, rename, rm, stat } from "node:fs/promises"
import { dirname, resolve, sep } from "node:path"
import { Readable, Transform } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { Svc } from "@svc/sdk"
import { UsageError, type Writer } from "../../terminal.ts"
import { type Remote, showRemote } from "./address.ts"
import type { Progress } from "./progress.ts"

const ATTEMPTS = 4
const TIMEOUT_MS = 60_000

const counting = (progress: Progress) =>
  new Transform({
    transform(chunk: Buffer, _encoding, done) {
      progress.moved(chunk.length)
      done(null, chunk)
    },
  })

/**
 * Writes beside the file and then puts it in its place, so that half an object never looks like one. A connection that
 * breaks is taken up where it broke, as long as the object is still the same.
 */
export const downloadFile = async (
  svc: Svc,
  from: Remote,
  path: string,
  progress: Progress,
): Promise<void> => {
  const draft = `${path}.svc-part`
  await mkdir(dirname(path), { recursive: true })
  try {
    let etag = await fetchTo(svc, from, draft, {}, progress)
    for (let attempt = 1; etag !== undefined; attempt++) {
      if (attempt === ATTEMPTS) throw new UsageError(`${showRemote(from)}: the connection broke too often`)
      const { size } = await stat(draft)
      etag = await fetchTo(svc, from, draft, { range: `bytes=${size}-`, "if-match": etag }, progress)
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Appends what arrives. Gives nothing when that was all, and the ETag to go on with when the connection broke. */
const fetchTo = async (
  svc: Svc,
  { bucket, key }: Remote,
  draft: string,
  headers: Record<string, string>,
  progress: Progress,
): Promise<string | undefined> => {
  const reply = await svc.storage.getObject({ bucket, key }, { headers, timeoutMs: TIMEOUT_MS })
  const flags = reply.status === 206 ? "a" : "w"
  try {
    await pipeline(bodyOf(reply), counting(progress), createWriteStream(draft, { flags }))
    return undefined
  } catch (error) {
    const etag = reply.headers.get("etag")
    const isDisk = error instanceof Error && "syscall" in error && error.syscall === "write"
    if (etag === null || isDisk) throw error
    return etag
  }
}

const bodyOf = ({ body }: Response): Readable =>
  body ? Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]) : Readable.from([])

export const downloadPipe = async (svc: Svc, { bucket, key }: Remote, out: Writer, progress: Progress) => {
  const reply = await svc.storage.getObject({ bucket, key }, { timeoutMs: TIMEOUT_MS })
  for await (const chunk of bodyOf(reply)) {
    progress.moved((chunk as Buffer).length)
    await out.bytes(chunk as Buffer)
  }
}

/** Object keys are untrusted: they must not lead out of the given folder. */
export const pathInside = (folder: string, relative: string, from: Remote): string => {
  const root = resolve(folder)
  const path = resolve(root, `.${sep}${relative}`)
  const isInside = path.startsWith(root.endsWith(sep) ? root : root + sep)
  if (!isInside || relative.includes("\0"))
    throw new UsageError(`${showRemote(from)} would be written outside of ${folder}`)
  return path
}
