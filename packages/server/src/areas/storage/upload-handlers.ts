import type { areas, Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Stores } from "./access/callers.ts"
import {
  announcedSize,
  attributesOf,
  objectPayload,
  overwriting,
  partPayload,
  placeOf,
  uploadPayload,
} from "./payloads.ts"
import { readExpected } from "./rules/checksums.ts"

type Operations = typeof areas.storage.specs

const LISTED_DEFAULT = 100
const PARTS_LISTED_DEFAULT = 1000

export const uploadHandlers = ({ stores: { ownStore } }: { readonly stores: Stores }) => ({
  async createMultipart(input: Input<Operations["createMultipart"]>, call: Call) {
    const { bucket, key, checksum_algorithm, checksum_type } = input
    const upload = await ownStore(call).multipart.create(placeOf(call), {
      ...{ bucket, key, now: call.now },
      ...(attributesOf(input) ?? { http: {}, metadata: {} }),
      ...(checksum_algorithm && { checksumAlgorithm: checksum_algorithm }),
      ...(checksum_type && { checksumType: checksum_type }),
    })
    return uploadPayload(upload)
  },

  async listMultipart(input: Input<Operations["listMultipart"]>, call: Call) {
    const { bucket, prefix, after_key, after_id, limit = LISTED_DEFAULT } = input
    const { uploads, isTruncated } = await ownStore(call).multipart.list(placeOf(call), bucket, {
      limit,
      ...(prefix !== undefined && { prefix }),
      ...(after_key !== undefined && { afterKey: after_key }),
      ...(after_id !== undefined && { afterId: after_id }),
    })
    return { data: uploads.map(uploadPayload), is_truncated: isTruncated }
  },

  async putPart({ upload_id, part_number }: Input<Operations["putPart"]>, call: Call) {
    const part = await ownStore(call).multipart.putPart(placeOf(call), {
      ...{ uploadId: upload_id, number: part_number },
      ...{ source: call.stream, signal: call.signal, now: call.now },
      ...announcedSize(call.header),
      expected: readExpected(call.header),
    })
    call.meter("ingress_bytes", part.size)
    call.setHeader("etag", `"${part.etag}"`)
    return partPayload(part)
  },

  async listParts(input: Input<Operations["listParts"]>, call: Call) {
    const { upload_id, after = 0, limit = PARTS_LISTED_DEFAULT } = input
    const { parts, isTruncated } = await ownStore(call).multipart.listParts(placeOf(call), upload_id, {
      after,
      limit,
    })
    return { data: parts.map(partPayload), is_truncated: isTruncated }
  },

  async completeMultipart(input: Input<Operations["completeMultipart"]>, call: Call) {
    const object = await ownStore(call).multipart.complete(placeOf(call), {
      uploadId: input.upload_id,
      parts: input.parts.map(({ part_number, etag }) => ({ number: part_number, etag })),
      ...overwriting(input.overwrite),
      now: call.now,
    })
    call.setHeader("etag", `"${object.etag}"`)
    return objectPayload(object)
  },

  async abortMultipart({ upload_id }: Input<Operations["abortMultipart"]>, call: Call) {
    await ownStore(call).multipart.abort(placeOf(call), upload_id)
    return { upload_id, aborted: true as const }
  },
})
