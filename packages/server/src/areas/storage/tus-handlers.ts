/** tus 1.0 over HTTP. */
import { type areas, type Input, OBJECT_BYTES_MAX, TUS_HEADERS } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Stores } from "./access/callers.ts"
import { placeOf } from "./payloads.ts"
import type { ResumableUploads } from "./resumable.ts"
import {
  checkVersion,
  readBodySize,
  readConcatenation,
  readLateLength,
  readLength,
  readMetadataText,
  readOffset,
  readUploadChecksum,
  readUploadMetadata,
  TUS_CONTENT_TYPE,
} from "./rules/tus.ts"
import type { UploadRow } from "./store/rows.ts"

type Operations = typeof areas.storage.specs
type UploadInput = Input<Operations["headUpload"]>

const setHeaders = (call: Call, headers: Readonly<Record<string, string>>) => {
  for (const [name, value] of Object.entries(headers)) call.setHeader(name, value)
}

const begin = (call: Call) => {
  setHeaders(call, TUS_HEADERS)
  checkVersion(call.header)
}

const isUpload = (call: Call): boolean => call.header("content-type")?.toLowerCase() === TUS_CONTENT_TYPE

const describe = (call: Call, upload: UploadRow) =>
  setHeaders(call, {
    "upload-offset": String(upload.received_bytes),
    "upload-expires": upload.expires_at.toUTCString(),
    ...(upload.length_bytes === null
      ? { "upload-defer-length": "1" }
      : { "upload-length": String(upload.length_bytes) }),
    ...(upload.concat && { "upload-concat": upload.concat_text ?? upload.concat }),
    ...(upload.metadata_text && { "upload-metadata": upload.metadata_text }),
  })

export const tusHandlers = ({
  resumable,
  stores,
}: {
  readonly resumable: ResumableUploads
  readonly stores: Stores
}) => {
  const send = async (call: Call, uploadId: string, offset: number): Promise<UploadRow> => {
    const upload = await resumable.send(placeOf(call), {
      ...{ uploadId, offset, source: call.stream, now: call.now },
      sizeBytes: readBodySize(call.header),
      checksum: readUploadChecksum(call.header),
      lateLength: call.operation.method === "PATCH" ? readLateLength(call.header) : undefined,
    })
    call.meter("ingress_bytes", upload.received_bytes - offset)
    return upload
  }

  const create = async (call: Call): Promise<UploadRow> => {
    const { header, now } = call
    const concatenation = readConcatenation(header)
    if (concatenation?.partials) {
      const { text: concatText, partials } = concatenation
      const { text: metadataText, ...metadata } = readUploadMetadata(header)
      await stores.checkPut(call, metadata)
      const final = { ...metadata, partials, concatText, metadataText, now }
      return await resumable.concatenate(placeOf(call), final)
    }
    const lengthBytes = readLength(header, OBJECT_BYTES_MAX)
    if (concatenation) {
      const metadataText = readMetadataText(header)
      return await resumable.createPartial(placeOf(call), { lengthBytes, metadataText, now })
    }
    const { text: metadataText, ...metadata } = readUploadMetadata(header)
    await stores.checkPut(call, metadata)
    return await resumable.create(placeOf(call), { ...metadata, lengthBytes, metadataText, now })
  }

  return {
    async createUpload(_input: Input<Operations["createUpload"]>, call: Call) {
      begin(call)
      const created = await create(call)
      call.setHeader("location", `/v1/storage/uploads/${created.id}`)
      const upload = isUpload(call) ? await send(call, created.id, 0) : created
      describe(call, upload)
      return { upload_id: upload.id, offset: upload.received_bytes }
    },

    async headUpload({ upload_id }: UploadInput, call: Call) {
      begin(call)
      describe(call, await resumable.find(placeOf(call), upload_id, call.now))
      call.setHeader("cache-control", "no-store")
    },

    async patchUpload({ upload_id }: UploadInput, call: Call) {
      begin(call)
      if (!isUpload(call)) throw fault("unsupported_media_type", { types: TUS_CONTENT_TYPE })
      const upload = await send(call, upload_id, readOffset(call.header))
      setHeaders(call, {
        "upload-offset": String(upload.received_bytes),
        "upload-expires": upload.expires_at.toUTCString(),
      })
    },

    async deleteUpload({ upload_id }: UploadInput, call: Call) {
      begin(call)
      await resumable.drop(placeOf(call), upload_id, call.now)
    },
  }
}
