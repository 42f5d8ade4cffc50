/** Versions and tags of objects. */
import { type areas, type Input, LISTED_OBJECTS_DEFAULT } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { requireScope } from "../../kernel/scopes.ts"
import type { Stores } from "./access/callers.ts"
import type { ListedVersions, ObjectRecord } from "./object-store.ts"
import { objectPayload, placeOf } from "./payloads.ts"
import { tagProblem } from "./rules/tags.ts"

type Operations = typeof areas.storage.specs
type Next = NonNullable<ListedVersions["next"]>

const cursorOf = ({ key, marker }: Next): string =>
  Buffer.from(JSON.stringify(marker === undefined ? [key] : [key, marker])).toString("base64url")

const readCursor = (cursor: string): Next => {
  try {
    const [key, marker] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[]
    const isKey = typeof key === "string" && key !== "" && !key.includes("\0")
    if (isKey && marker === undefined) return { key }
    if (isKey && typeof marker === "string" && !marker.includes("\0")) return { key, marker }
  } catch {
    // As any other that no list gave.
  }
  throw fault("invalid_parameter", { reason: "cursor is not one that a list gave" })
}

const tagsPayload = ({ bucket, key, versionId, tags }: ObjectRecord) => ({
  bucket,
  key,
  version_id: versionId,
  tags: { ...tags },
})

export const versionHandlers = ({ stores: { ownStore } }: { readonly stores: Stores }) => ({
  async listVersions(input: Input<Operations["listVersions"]>, call: Call) {
    const { bucket, prefix, delimiter, cursor, limit = LISTED_OBJECTS_DEFAULT } = input
    const { versions, prefixes, next } = await ownStore(call).listVersions(placeOf(call), bucket, {
      ...(prefix !== undefined && { prefix }),
      ...(delimiter !== undefined && { delimiter }),
      ...(cursor !== undefined && { after: readCursor(cursor) }),
      limit,
    })
    return {
      data: versions.map(({ object, isLatest, isMarker }) => ({
        ...objectPayload(object),
        is_latest: isLatest,
        is_delete_marker: isMarker,
      })),
      delimited_prefixes: [...prefixes],
      is_truncated: next !== null,
      cursor: next === null ? null : cursorOf(next),
      limit,
    }
  },

  async restoreVersion({ bucket, key, version_id }: Input<Operations["restoreVersion"]>, call: Call) {
    requireScope(call, "storage:read")
    const copy = await ownStore(call).copy(placeOf(call), {
      from: { bucket, key, version: version_id },
      to: { bucket, key },
      now: call.now,
    })
    return objectPayload(copy)
  },

  async getTags({ bucket, key, version_id }: Input<Operations["getTags"]>, call: Call) {
    return tagsPayload(
      await ownStore(call).find(placeOf(call), bucket, key, version_id, "s3:GetObjectTagging"),
    )
  },

  async setTags({ bucket, key, version_id, tags }: Input<Operations["setTags"]>, call: Call) {
    const problem = tagProblem(Object.entries(tags))
    if (problem !== undefined) throw fault("invalid_parameter", { reason: problem })
    return tagsPayload(
      await ownStore(call).setTags(placeOf(call), bucket, { key, version: version_id }, tags),
    )
  },
})
