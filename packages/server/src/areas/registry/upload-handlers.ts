import type { areas } from "@svc/contract"
import { REGISTRY_BLOB_BYTES_MAX, reply } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { pathFor } from "./paths.ts"
import { parseChunk } from "./rules/ranges.ts"
import { mountBlob } from "./store/blobs.ts"
import { ensureRepository, type Place } from "./store/repositories.ts"
import { insertUpload, type Upload } from "./store/uploads.ts"
import type { CheckUpload, Uploads } from "./uploads.ts"

type UploadOperation = "startUpload" | "getUpload" | "patchUpload" | "finishUpload" | "cancelUpload"
export type UploadHandlers = Pick<Handlers<(typeof areas.registry)["specs"]>, UploadOperation>

export const placeOf = ({ projectTenant }: Call, repository: string): Place => ({
  ...projectTenant,
  repository,
})

export const locationOf = ({ target }: Call, { projectId, repository }: Place, end: string): string =>
  pathFor(target, `/${projectId}/${repository}/${end}`)

const received = ({ received_bytes }: Upload): string => `0-${Math.max(received_bytes - 1, 0)}`

const headersOf = (call: Call, place: Place, upload: Upload): Record<string, string> => ({
  location: locationOf(call, place, `blobs/uploads/${upload.id}`),
  range: received(upload),
  "docker-upload-uuid": upload.id,
})

const setHeaders = (call: Call, headers: Record<string, string>) => {
  for (const [name, value] of Object.entries(headers)) call.setHeader(name, value)
}

const blobHeaders = (call: Call, place: Place, digest: string): Record<string, string> => ({
  location: locationOf(call, place, `blobs/${digest}`),
  "docker-content-digest": digest,
})

/** Before any of it is read. */
const lengthOf = ({ header }: Call): number | undefined => {
  const text = header("content-length")
  const length = text === undefined ? undefined : Number(text)
  if (length !== undefined && length > REGISTRY_BLOB_BYTES_MAX)
    throw fault("payload_too_large", { bytes: REGISTRY_BLOB_BYTES_MAX })
  return length
}

/** Whether the body is what comes next, where the request says which bytes it has. */
const checkOf = (call: Call, place: Place): CheckUpload => {
  const length = lengthOf(call)
  const chunk = parseChunk(call.header("content-range"))
  return upload => {
    const refuse = (reason: string) =>
      fault("upload_range_invalid", { reason }, { headers: headersOf(call, place, upload) })
    if (chunk === null) throw refuse("Content-Range is not a range of bytes")
    if (chunk && chunk.start !== upload.received_bytes)
      throw refuse(`the upload is at byte ${upload.received_bytes}`)
    if (chunk && length !== undefined && length !== chunk.end - chunk.start + 1)
      throw refuse("Content-Range and Content-Length differ")
    if (upload.received_bytes + (length ?? 0) > REGISTRY_BLOB_BYTES_MAX)
      throw fault("payload_too_large", { bytes: REGISTRY_BLOB_BYTES_MAX })
  }
}

/** The name without the project; undefined where it is of another one, which nothing is mounted from. */
const ownName = ({ projectId }: Place, from: string | undefined): string | undefined =>
  from?.startsWith(`${projectId}/`) ? from.slice(projectId.length + 1) : undefined

export const uploadHandlers = ({
  database,
  uploads,
}: {
  readonly database: Database
  readonly uploads: Uploads
}): UploadHandlers => {
  /** A blob of another repository, or an upload that begins. */
  const begin = (place: Place, mount: string | undefined, from: string | undefined, now: Date) =>
    database.transaction(async tx => {
      const repositoryId = await ensureRepository(tx, place, now)
      if (mount !== undefined && from !== undefined) {
        const source = { projectId: place.projectId, repository: from, digest: mount }
        if (await mountBlob(tx, source, repositoryId, now)) return undefined
      }
      return await insertUpload(tx, place, repositoryId, now)
    })

  return {
    async startUpload({ repository, digest, mount, from }, call) {
      const place = placeOf(call, repository)
      lengthOf(call)
      const upload = await begin(place, mount, ownName(place, from), call.now)
      if (!upload) return reply(201, undefined, blobHeaders(call, place, mount ?? ""))
      if (digest === undefined) return reply(202, undefined, headersOf(call, place, upload))
      try {
        const whole = await uploads.finish(place, upload.id, digest, call.stream)
        call.meter("ingress_bytes", whole.received_bytes)
      } catch (error) {
        // Nobody knows its id, so that nobody could go on.
        await uploads.cancel(place, upload.id).catch(() => undefined)
        throw error
      }
      return reply(201, undefined, blobHeaders(call, place, digest))
    },

    async getUpload({ repository, upload_id }, call) {
      const place = placeOf(call, repository)
      setHeaders(call, headersOf(call, place, await uploads.find(place, upload_id)))
    },

    async patchUpload({ repository, upload_id }, call) {
      const place = placeOf(call, repository)
      const check = checkOf(call, place)
      let before = 0
      const upload = await uploads.append(place, upload_id, call.stream, found => {
        check(found)
        before = found.received_bytes
      })
      call.meter("ingress_bytes", upload.received_bytes - before)
      setHeaders(call, headersOf(call, place, upload))
    },

    async finishUpload({ repository, upload_id, digest }, call) {
      const place = placeOf(call, repository)
      const check = checkOf(call, place)
      let before = 0
      const upload = await uploads.finish(place, upload_id, digest, call.stream, found => {
        check(found)
        before = found.received_bytes
      })
      call.meter("ingress_bytes", upload.received_bytes - before)
      setHeaders(call, blobHeaders(call, place, digest))
    },

    async cancelUpload({ repository, upload_id }, call) {
      await uploads.cancel(placeOf(call, repository), upload_id)
    },
  }
}
