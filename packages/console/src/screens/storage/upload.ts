/** Uploads with progress: small files in one request, large ones in parts, each of which is tried again by itself. */
import { call, Refused, requestFor } from "../../api.ts"
import type { Received, Sent } from "../../calls.ts"
import type { Surroundings } from "../../derived/request.ts"
import { root } from "../../root.ts"
import { createStore } from "../../store.ts"

export interface Upload {
  readonly id: number
  readonly name: string
  readonly size: number
  readonly sent: number
  readonly state: "waiting" | "running" | "done" | "failed" | "stopped"
  readonly error?: unknown
  readonly stop: () => void
}

export const uploads = createStore<readonly Upload[]>([])

const change = (id: number, fields: Partial<Upload>): void =>
  uploads.set(uploads.get().map(upload => (upload.id === id ? { ...upload, ...fields } : upload)))

/** `fetch` does not tell how much of a body has left. */
const sendWithProgress = (sent: Sent, progress: (bytes: number) => void, signal: AbortSignal) =>
  new Promise<Received>((resolve, reject) => {
    const request = new XMLHttpRequest()
    const stop = () => request.abort()
    request.open(sent.method, `${root}${sent.path}`)
    for (const [name, value] of Object.entries(sent.headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded }) => progress(loaded)
    request.onload = () => {
      let json: unknown
      try {
        json = JSON.parse(request.responseText)
      } catch {
        json = undefined
      }
      const requestId = request.getResponseHeader("x-request-id") ?? ""
      resolve({ status: request.status, type: "application/json", requestId, ms: 0, size: 0, json })
    }
    request.onerror = () => reject(new Error("The platform did not answer."))
    request.onabort = () => reject(new DOMException("stopped", "AbortError"))
    request.onloadend = () => signal.removeEventListener("abort", stop)
    signal.addEventListener("abort", stop)
    request.send(sent.body as Blob)
  })

const WHOLE_BYTES_MAX = 32 * 1024 ** 2
const PART_BYTES = 16 * 1024 ** 2
const TRIES = 4

interface Work {
  readonly file: File
  readonly bucket: string
  readonly key: string
  readonly surroundings: Surroundings
  readonly signal: AbortSignal
  readonly progress: (bytes: number) => void
}

const put = async (work: Work): Promise<void> => {
  const { bucket, key, file, surroundings } = work
  const sent = await requestFor("putObject", { bucket, key }, surroundings, file)
  const received = await sendWithProgress(sent, work.progress, work.signal)
  if (received.status >= 400) throw new Refused(received)
}

const putPart = async (work: Work, uploadId: string, number: number): Promise<string> => {
  const from = (number - 1) * PART_BYTES
  const part = work.file.slice(from, from + PART_BYTES, "application/octet-stream")
  for (let attempt = 1; ; attempt++) {
    try {
      const fields = { upload_id: uploadId, part_number: number }
      const sent = await requestFor("putUploadPart", fields, work.surroundings, part)
      const received = await sendWithProgress(sent, bytes => work.progress(from + bytes), work.signal)
      if (received.status >= 400) throw new Refused(received)
      return (received.json as { readonly data: { readonly etag: string } }).data.etag
    } catch (error) {
      if (work.signal.aborted || error instanceof Refused || attempt === TRIES) throw error
      await new Promise(resolve => setTimeout(resolve, 1_000 * 2 ** attempt))
    }
  }
}

const putInParts = async (work: Work): Promise<void> => {
  const { bucket, key, file, surroundings } = work
  const http_metadata = file.type === "" ? {} : { http_metadata: { content_type: file.type } }
  const { upload_id } = await call<{ readonly upload_id: string }>(
    "createMultipartUpload",
    { bucket, key, ...http_metadata },
    surroundings,
  )
  try {
    const parts: { readonly part_number: number; readonly etag: string }[] = []
    for (let number = 1; (number - 1) * PART_BYTES < file.size; number++)
      parts.push({ part_number: number, etag: await putPart(work, upload_id, number) })
    await call("completeMultipartUpload", { upload_id, parts }, surroundings)
  } catch (error) {
    // Its parts would be paid for.
    await call("abortMultipartUpload", { upload_id }, surroundings).catch(() => undefined)
    throw error
  }
}

let ids = 0
let queue: Promise<void> = Promise.resolve()

/** A dropped folder keeps its paths. */
const pathOf = (file: File): string => file.webkitRelativePath || file.name

/** Sends the files one after the other; `done` is called after each. */
export const startUploads = (
  files: readonly File[],
  place: { readonly bucket: string; readonly prefix: string; readonly surroundings: Surroundings },
  done: () => void,
): void => {
  for (const file of files) {
    const abort = new AbortController()
    const id = ++ids
    const name = pathOf(file)
    const fresh: Upload = { id, name, size: file.size, sent: 0, state: "waiting", stop: () => abort.abort() }
    uploads.set([...uploads.get(), fresh])
    queue = queue.then(async () => {
      if (abort.signal.aborted) return change(id, { state: "stopped" })
      change(id, { state: "running" })
      const progress = (sent: number) => change(id, { sent: Math.min(sent, file.size) })
      const work = { ...place, file, key: place.prefix + name, signal: abort.signal, progress }
      try {
        await (file.size <= WHOLE_BYTES_MAX ? put(work) : putInParts(work))
        change(id, { state: "done", sent: file.size })
        done()
      } catch (error) {
        change(id, abort.signal.aborted ? { state: "stopped" } : { state: "failed", error })
      }
    })
  }
}

export const forgetUploads = (): void =>
  uploads.set(uploads.get().filter(({ state }) => state === "waiting" || state === "running"))
