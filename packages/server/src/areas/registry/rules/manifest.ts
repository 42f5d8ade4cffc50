/** What a manifest says: OCI image specification 1.1, and Docker's schema 2, which has the same shape. */
import { isUtf8 } from "node:buffer"
import { fault } from "../../../kernel/fault.ts"
import { isDigest } from "./digests.ts"

export interface Manifest {
  readonly mediaType: string
  readonly artifactType: string | null
  /** The digest of the manifest that this one is about. */
  readonly subject: string | null
  /** JSON of its annotations. */
  readonly annotations: string | null
  /** Digests of the blobs that must be there. */
  readonly blobs: readonly string[]
  /** Digests of the manifests that must be there. */
  readonly manifests: readonly string[]
}

type Json = Readonly<Record<string, unknown>>

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly isElsewhere: boolean
}

const OCI_IMAGE = "application/vnd.oci.image.manifest.v1+json"
const OCI_INDEX = "application/vnd.oci.image.index.v1+json"
/** Nothing says what they are; the manifest does. */
const GENERIC: ReadonlySet<string> = new Set(["application/octet-stream", "application/json", ""])
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/

const invalid = (reason: string) => fault("manifest_invalid", { reason })

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parse = (content: Buffer): Json => {
  if (!isUtf8(content)) throw invalid("it is not UTF-8")
  let value: unknown
  try {
    value = JSON.parse(content.toString())
  } catch {
    throw invalid("it is not JSON")
  }
  if (!isObject(value)) throw invalid("it is not a JSON object")
  if (value.schemaVersion !== 2) throw invalid("`schemaVersion` is not 2")
  return value
}

const readMediaType = (name: string, value: unknown): string => {
  if (typeof value !== "string" || !MEDIA_TYPE.test(value)) throw invalid(`\`${name}\` is not a media type`)
  return value
}

const readDescriptor = (name: string, value: unknown): Descriptor => {
  if (!isObject(value)) throw invalid(`\`${name}\` is not a descriptor`)
  const mediaType = readMediaType(`${name}.mediaType`, value.mediaType)
  if (!isDigest(value.digest)) throw invalid(`\`${name}.digest\` is not a digest of sha256 or sha512`)
  if (!Number.isSafeInteger(value.size) || Number(value.size) < 0)
    throw invalid(`\`${name}.size\` is not a size`)
  // Layers of some base images may not be passed on: their address stands in their place.
  const isElsewhere = Array.isArray(value.urls) && value.urls.length > 0
  return { mediaType, digest: value.digest, isElsewhere }
}

const readDescriptors = (name: string, value: unknown): Descriptor[] => {
  if (!Array.isArray(value)) throw invalid(`\`${name}\` is not a list`)
  return value.map((each, at) => readDescriptor(`${name}[${at}]`, each))
}

const readAnnotations = (value: unknown): string | null => {
  if (value === undefined || value === null) return null
  if (!isObject(value) || !Object.values(value).every(each => typeof each === "string"))
    throw invalid("`annotations` is not an object of texts")
  return JSON.stringify(value)
}

const digestsOf = (descriptors: readonly Descriptor[]): string[] => [
  ...new Set(descriptors.filter(({ isElsewhere }) => !isElsewhere).map(({ digest }) => digest)),
]

const readArtifactType = (value: unknown): string | null =>
  value === undefined || value === null || value === "" ? null : readMediaType("artifactType", value)

const mediaTypeOf = (manifest: Json, contentType: string): string => {
  const sent = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  const own = manifest.mediaType === undefined ? undefined : readMediaType("mediaType", manifest.mediaType)
  if (own !== undefined && !GENERIC.has(sent) && own.toLowerCase() !== sent)
    throw invalid("`mediaType` is not the content type that it was sent with")
  if (own !== undefined) return own
  if (!GENERIC.has(sent)) return readMediaType("content-type", sent)
  return Array.isArray(manifest.manifests) ? OCI_INDEX : OCI_IMAGE
}

export const readManifest = (content: Buffer, contentType: string): Manifest => {
  const manifest = parse(content)
  const common = {
    mediaType: mediaTypeOf(manifest, contentType),
    subject:
      manifest.subject === undefined || manifest.subject === null
        ? null
        : readDescriptor("subject", manifest.subject).digest,
    annotations: readAnnotations(manifest.annotations),
  }
  const artifactType = readArtifactType(manifest.artifactType)
  if (manifest.manifests !== undefined) {
    const manifests = digestsOf(readDescriptors("manifests", manifest.manifests))
    return { ...common, artifactType, blobs: [], manifests }
  }
  // Artifact manifests of a draft of the specification, which tools still push, have blobs and no configuration.
  if (manifest.config === undefined && manifest.blobs !== undefined)
    return {
      ...common,
      artifactType,
      blobs: digestsOf(readDescriptors("blobs", manifest.blobs)),
      manifests: [],
    }
  const config = readDescriptor("config", manifest.config)
  const layers = readDescriptors("layers", manifest.layers)
  return {
    ...common,
    artifactType: artifactType ?? config.mediaType,
    blobs: digestsOf([config, ...layers]),
    manifests: [],
  }
}
