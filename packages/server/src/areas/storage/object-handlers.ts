import { type areas, type Input, LISTED_OBJECTS_DEFAULT } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { isFault } from "../../kernel/fault.ts"
import { requireScope } from "../../kernel/scopes.ts"
import type { Stores } from "./access/callers.ts"
import { answerGet, answerHead, type Download } from "./download.ts"
import type { ObjectStore } from "./object-store.ts"
import { announcedSize, attributesOf, objectPayload, overwriting, placeOf } from "./payloads.ts"
import { readAttributes } from "./rules/attributes.ts"
import { readExpected } from "./rules/checksums.ts"
import { parseConditions } from "./rules/conditions.ts"

type Operations = typeof areas.storage.specs
type ObjectInput = Input<Operations["getObject"]>

/** A shared cache must not keep what takes a key, and a private one asks whether it is still so. */
const PRIVATE = "private, no-cache"

const downloadOf = ({ bucket, key, version_id: version }: ObjectInput, call: Call): Download => ({
  place: placeOf(call),
  bucket,
  key,
  version,
  header: call.header,
  cacheControl: PRIVATE,
})

const conditionsOf = (call: Pick<Call, "header">) => {
  const conditions = parseConditions(call.header)
  return conditions ? { conditions } : {}
}

type Transfer = Input<Operations["copyObject"]>

const copyOf = (input: Transfer, now: Date): Parameters<ObjectStore["copy"]>[1] => {
  const attributes = attributesOf(input)
  return {
    from: { bucket: input.source_bucket, key: input.source_key },
    to: { bucket: input.bucket, key: input.key, ...overwriting(input.overwrite) },
    ...(attributes && { attributes }),
    now,
  }
}

export const objectHandlers = ({ stores: { ownStore } }: { readonly stores: Stores }) => ({
  async listObjects(input: Input<Operations["listObjects"]>, call: Call) {
    const { prefix, delimiter, start_after, cursor, limit = LISTED_OBJECTS_DEFAULT } = input
    const listed = await ownStore(call).list(placeOf(call), input.bucket, {
      ...(prefix !== undefined && { prefix }),
      ...(delimiter !== undefined && { delimiter }),
      ...(start_after !== undefined && { startAfter: start_after }),
      ...(cursor !== undefined && { cursor }),
      limit,
    })
    return {
      data: listed.objects.map(objectPayload),
      delimited_prefixes: [...listed.prefixes],
      is_truncated: listed.cursor !== null,
      cursor: listed.cursor,
      limit,
    }
  },

  async putObject({ bucket, key }: Input<Operations["putObject"]>, call: Call) {
    const object = await ownStore(call).put(placeOf(call), {
      ...{ bucket, key, source: call.stream, now: call.now, signal: call.signal },
      ...announcedSize(call.header),
      ...readAttributes(call),
      ...conditionsOf(call),
      expected: readExpected(call.header),
    })
    call.meter("ingress_bytes", object.size)
    call.setHeader("etag", `"${object.etag}"`)
    return objectPayload(object)
  },

  getObject: (input: ObjectInput, call: Call) =>
    answerGet(ownStore(call), downloadOf(input, call), bytes => call.meter("egress_bytes", bytes)),

  headObject: (input: ObjectInput, call: Call) => answerHead(ownStore(call), downloadOf(input, call)),

  async deleteObject({ bucket, key, version_id: version }: Input<Operations["deleteObject"]>, call: Call) {
    const { conditions } = conditionsOf(call)
    const [removed] = await ownStore(call).removeVersions(
      placeOf(call),
      bucket,
      [{ key, version }],
      conditions,
    )
    return {
      bucket,
      key,
      deleted: removed?.wasThere ?? false,
      version_id: removed?.versionId ?? null,
      delete_marker: removed?.isMarker ?? false,
    }
  },

  async deleteObjects({ bucket, keys }: Input<Operations["deleteObjects"]>, call: Call) {
    return { deleted: [...(await ownStore(call).remove(placeOf(call), bucket, keys))] }
  },

  async copyObject(input: Transfer, call: Call) {
    // A copy is read from its source, and may land where everybody reads.
    requireScope(call, "storage:read")
    return objectPayload(await ownStore(call).copy(placeOf(call), copyOf(input, call.now)))
  },

  async moveObject(input: Transfer, call: Call) {
    requireScope(call, "storage:read")
    const place = placeOf(call)
    const store = ownStore(call)
    const object = await store.copy(place, copyOf(input, call.now))
    const isItself = input.source_bucket === input.bucket && input.source_key === input.key
    // What was written there since stays: it is not what was moved.
    if (!isItself)
      await store
        .remove(place, input.source_bucket, [input.source_key], { ifMatch: [object.etag] })
        .catch(ignorePrecondition)
    return objectPayload(object)
  },
})

const ignorePrecondition = (error: unknown) => {
  if (!isFault(error, "precondition_failed")) throw error
}
