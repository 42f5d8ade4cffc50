/** tus 1.0 over HTTP. */
import { type areas, type Input, OBJECT_BYTES_MAX } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { placeOf } from "./payloads.ts"
import type { ResumableUploads } from "./resumable.ts"
import {
  checkVersion,
  readBodySize,
  readLateLength,
  readLength,
  readOffset,
  readUploadChecksum,
  readUploadMetadata,
  TUS_CONTENT_TYPE,
  TUS_HEADERS,
} from "./rules/tus.ts"
import type { UploadRow } from "./store/rows.ts"

type Operations = typeof areas.storage.specs
type Named = Input<Operations["headUpload"]>

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
    ...(upload.metadata_text && { "upload-metadata": upload.metadata_text }),
  })

export const tusHandlers = ({ resumable }: { readonly resumable: ResumableUploads }) => {
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

  return {
    async createUpload(_input: Input<Operations["createUpload"]>, call: Call) {
      begin(call)
      const lengthBytes = readLength(call.header, OBJECT_BYTES_MAX)
      const { text, ...metadata } = readUploadMetadata(call.header)
      const created = await resumable.create(placeOf(call), {
        ...metadata,
        ...{ lengthBytes, metadataText: text, now: call.now },
      })
      call.setHeader("location", `/v1/storage/uploads/${created.id}`)
      const upload = isUpload(call) ? await send(call, created.id, 0) : created
      describe(call, upload)
      return { upload_id: upload.id, offset: upload.received_bytes }
    },

    async headUpload({ upload_id }: Named, call: Call) {
      begin(call)
      describe(call, await resumable.find(placeOf(call), upload_id, call.now))
      call.setHeader("cache-control", "no-store")
    },

    async patchUpload({ upload_id }: Named, call: Call) {
      begin(call)
      if (!isUpload(call)) throw fault("unsupported_media_type", { types: TUS_CONTENT_TYPE })
      const upload = await send(call, upload_id, readOffset(call.header))
      setHeaders(call, {
        "upload-offset": String(upload.received_bytes),
        "upload-expires": upload.expires_at.toUTCString(),
      })
    },

    async deleteUpload({ upload_id }: Named, call: Call) {
      begin(call)
      await resumable.drop(placeOf(call), upload_id, call.now)
    },
  }
}
