import { SEARCH_DOCUMENT_BYTES_MAX } from "@svc/contract"
import { isFault } from "../../../kernel/fault.ts"
import type { Offer } from "../../../kernel/offer.ts"
import type { ListedObject, ObjectReader } from "../../storage/offers.ts"
import type { Item, Unreadable } from "../documents.ts"
import type { StorageConfig } from "./config.ts"
import { contentText, isReadable, typeOf } from "./content.ts"
import { type ReadSource, SourceProblem } from "./reading.ts"

const OBJECTS = 50
/** Markup beside the text. */
const OBJECT_BYTES_MAX = 4 * SEARCH_DOCUMENT_BYTES_MAX

/** Undefined: deleted since it was listed. */
const readObject = async (
  reader: ObjectReader,
  projectId: string,
  bucket: string,
  { key, sizeBytes, contentType }: ListedObject,
): Promise<Item | Unreadable | undefined> => {
  const type = typeOf(contentType, key)
  if (!isReadable(type)) return { id: key, problem: `there is no text in ${type || "an unknown type"}` }
  if (sizeBytes > OBJECT_BYTES_MAX) return { id: key, problem: `it has more than ${OBJECT_BYTES_MAX} bytes` }
  const body = await reader.read(projectId, bucket, key)
  if (!body) return undefined
  const { title, text } = await contentText(Buffer.concat(await body.toArray()), type)
  const metadata = { key, content_type: type, size_bytes: sizeBytes }
  return {
    id: key,
    title: title || key,
    url: null,
    metadata,
    record: { title: title || key, text, metadata },
  }
}

export const readStorage =
  (objects: Offer<ObjectReader>): ReadSource =>
  async (source, cursor, signal) => {
    const reader = await objects.get()
    if (!reader) throw new Error("the storage area has not started")
    const { bucket, prefix } = source.config as unknown as StorageConfig
    const { project_id: projectId } = source
    const page = await reader.list(projectId, bucket, { prefix, cursor, limit: OBJECTS }).catch(error => {
      throw isFault(error, "bucket_not_found") ? new SourceProblem("there is no such bucket") : error
    })
    const items: (Item | Unreadable)[] = []
    for (const object of page.objects) {
      signal.throwIfAborted()
      const item = await readObject(reader, projectId, bucket, object)
      if (item) items.push(item)
    }
    return { items, next: page.cursor }
  }
