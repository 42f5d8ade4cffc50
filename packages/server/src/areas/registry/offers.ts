/** What other areas may ask of this one: types and tokens alone. */
import type { Readable } from "node:stream"
import { offerToken } from "../../kernel/token.ts"

/** A repository of a project; it is made when something is put there. */
export interface RepositoryPlace {
  readonly organizationId: string
  readonly projectId: string
  readonly repository: string
}

export interface StoredManifest {
  readonly digest: string
  readonly mediaType: string
  readonly content: Buffer
}

/** Images of a project, for areas that make or run them. Bounds are those of the protocol's operations. */
export interface ProjectImages {
  /** By tag or digest; undefined where the project has none. */
  manifest(place: RepositoryPlace, reference: string): Promise<StoredManifest | undefined>
  hasBlob(place: RepositoryPlace, digest: string): Promise<boolean>
  /** The whole blob. Throws `blob_not_found`. */
  readBlob(place: RepositoryPlace, digest: string): Promise<Readable>
  /** Throws `digest_mismatch` where the bytes are others than the digest says. */
  putBlob(place: RepositoryPlace, digest: string, bytes: AsyncIterable<Uint8Array>): Promise<void>
  /** Throws `manifest_blob_unknown` where what it names is not there. Gives its digest. */
  putManifest(place: RepositoryPlace, tag: string, mediaType: string, content: Buffer): Promise<string>
}

export const projectImages = offerToken<ProjectImages>("projectImages")
