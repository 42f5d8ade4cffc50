/** What other areas may ask of this one: types and tokens alone. */
import type { Readable } from "node:stream"
import { offerToken } from "../../kernel/token.ts"

export interface ListedObject {
  readonly key: string
  readonly sizeBytes: number
  readonly contentType: string | undefined
}

/** Objects of a project's buckets. */
export interface ObjectReader {
  /** In the order of the keys. Throws `bucket_not_found`. */
  list(
    projectId: string,
    bucket: string,
    listing: { readonly prefix: string | undefined; readonly cursor: string | null; readonly limit: number },
  ): Promise<{ readonly objects: readonly ListedObject[]; readonly cursor: string | null }>
  /** Null when there is no such object any more. */
  read(projectId: string, bucket: string, key: string): Promise<Readable | null>
}

export const objectReader = offerToken<ObjectReader>("objects")
