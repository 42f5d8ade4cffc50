/** `DeleteObjects`: up to a thousand keys in one request. */
import { isFault } from "../../../kernel/fault.ts"
import { readBody } from "./body.ts"
import { type DeleteConditions, readDeleteConditions, removeIf } from "./conditional-delete.ts"
import { s3Fault } from "./errors.ts"
import { checkKey } from "./headers.ts"
import { type S3Handler, type S3Request, unquoted, xml } from "./request.ts"
import { element, text } from "./xml.ts"
import { childrenOf, parseXml, textOf } from "./xml-body.ts"

const KEYS_MAX = 1000

interface ObjectToDelete {
  readonly key: string
  readonly version: string | undefined
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
    return { key, version: textOf(object, "VersionId"), conditions: readConditions(object) }
  })
  if (named.length === 0 || named.length > KEYS_MAX)
    throw s3Fault("MalformedXML", `it names from 1 to ${KEYS_MAX} objects`)
  return { named, isQuiet: textOf(root, "Quiet")?.trim() === "true" }
}

const deleted = ({ key }: ObjectToDelete): string => element("Deleted", [text("Key", key)])

const failed = ({ key }: ObjectToDelete, code: string, message: string): string =>
  element("Error", [text("Key", key), text("Code", code), text("Message", message)])

const removeOne = async (
  request: S3Request,
  named: ObjectToDelete,
  conditions: DeleteConditions,
): Promise<string> => {
  try {
    await removeIf(request, named.key, conditions)
    return deleted(named)
  } catch (error) {
    if (!isFault(error, "precondition_failed")) throw error
    return failed(named, "PreconditionFailed", error.message)
  }
}

export const deleteObjects: S3Handler = async request => {
  const { call, store, place, bucket } = request
  const { named, isQuiet } = await readKeys(await readBody(call))
  const isOther = ({ version }: ObjectToDelete) =>
    version !== undefined && version !== "" && version !== "null"
  const present = named.filter(object => !isOther(object))
  const free = present.filter(({ conditions }) => conditions === undefined)
  await store.remove(
    place,
    bucket,
    free.map(({ key }) => key),
  )
  const outcomes = [
    ...free.map(deleted),
    ...named.filter(isOther).map(object => failed(object, "NoSuchVersion", "the version does not exist")),
  ]
  for (const object of present)
    if (object.conditions) outcomes.push(await removeOne(request, object, object.conditions))
  return xml("DeleteResult", isQuiet ? outcomes.filter(outcome => outcome.startsWith("<Error>")) : outcomes)
}
