/** `DeleteObjects`: up to a thousand keys in one request. */
import { isFault } from "../../../kernel/fault.ts"
import type { NamedVersion, RemovedVersion } from "../object-store.ts"
import { readBody } from "./body.ts"
import { type DeleteConditions, readDeleteConditions, removeIf } from "./conditional-delete.ts"
import { s3Fault } from "./errors.ts"
import { checkKey } from "./headers.ts"
import { type S3Handler, type S3Request, unquoted, xml } from "./request.ts"
import { element, optional, text } from "./xml.ts"
import { childrenOf, parseXml, textOf } from "./xml-body.ts"

const KEYS_MAX = 1000

interface ObjectToDelete extends NamedVersion {
  /** Deleted only while these hold. */
  readonly conditions: DeleteConditions | undefined
}

const readConditions = (object: Parameters<typeof textOf>[0]): DeleteConditions | undefined => {
  const etag = textOf(object, "ETag")
  const conditions = {
    ...(etag !== undefined && { ifMatch: [unquoted(etag)] }),
    ...readDeleteConditions(textOf(object, "Size"), textOf(object, "LastModifiedTime")),
  }
  return Object.keys(conditions).length === 0 ? undefined : conditions
}

const readKeys = async (
  body: string,
): Promise<{ readonly named: readonly ObjectToDelete[]; readonly isQuiet: boolean }> => {
  const root = await parseXml(body, "Delete")
  const named = childrenOf(root, "Object").map(object => {
    const key = textOf(object, "Key")
    if (key === undefined || key === "") throw s3Fault("MalformedXML", "an object has no key")
    checkKey(key)
    return { key, version: textOf(object, "VersionId") || undefined, conditions: readConditions(object) }
  })
  if (named.length === 0 || named.length > KEYS_MAX)
    throw s3Fault("MalformedXML", `it names from 1 to ${KEYS_MAX} objects`)
  return { named, isQuiet: textOf(root, "Quiet")?.trim() === "true" }
}

/** What was deleted, or the delete marker that was made or deleted. */
const deleted = ({ key, version }: ObjectToDelete, removed: RemovedVersion | undefined): string =>
  element("Deleted", [
    text("Key", key),
    optional("VersionId", version),
    ...(removed?.isMarker
      ? [text("DeleteMarker", true), text("DeleteMarkerVersionId", removed.versionId ?? "null")]
      : []),
  ])

const failed = ({ key, version }: ObjectToDelete, code: string, message: string): string =>
  element("Error", [
    ...[text("Key", key), optional("VersionId", version)],
    ...[text("Code", code), text("Message", message)],
  ])

const removeOne = async (
  request: S3Request,
  named: ObjectToDelete,
  conditions: DeleteConditions,
): Promise<string> => {
  try {
    return deleted(named, await removeIf(request, named, conditions))
  } catch (error) {
    if (!isFault(error, "precondition_failed")) throw error
    return failed(named, "PreconditionFailed", error.message)
  }
}

/** In one statement. What was not there is deleted too. */
const removeAll = async ({ store, place, bucket }: S3Request, named: readonly ObjectToDelete[]) => {
  if (named.length === 0) {
    await store.findBucket(place, bucket)
    return []
  }
  const removed = await store.removeVersions(place, bucket, named)
  return named.map(object =>
    deleted(
      object,
      removed.find(
        ({ key, versionId, isMarker }) =>
          key === object.key && (object.version === undefined ? isMarker : versionId === object.version),
      ),
    ),
  )
}

export const deleteObjects: S3Handler = async request => {
  const { named, isQuiet } = await readKeys(await readBody(request.call))
  const outcomes = await removeAll(
    request,
    named.filter(({ conditions }) => conditions === undefined),
  )
  for (const object of named)
    if (object.conditions) outcomes.push(await removeOne(request, object, object.conditions))
  return xml("DeleteResult", isQuiet ? outcomes.filter(outcome => outcome.startsWith("<Error>")) : outcomes)
}
