/** Puts an image into the project's registry. */
import { hash } from "node:crypto"
import { createReadStream } from "node:fs"
import type { ProjectImages, RepositoryPlace } from "../../registry/offers.ts"
import type { BuiltImage } from "./build.ts"

const MANIFEST = "application/vnd.oci.image.manifest.v1+json"
const CONFIG = "application/vnd.oci.image.config.v1+json"

export interface Pushed {
  readonly digest: string
  /** Of its layers, compressed. */
  readonly bytes: number
}

export const pushImage = async (
  registry: ProjectImages,
  place: RepositoryPlace,
  tag: string,
  { config, layers }: BuiltImage,
  signal: AbortSignal,
): Promise<Pushed> => {
  const configDigest = `sha256:${hash("sha256", config)}`
  const put = async (digest: string, bytes: () => AsyncIterable<Uint8Array>) => {
    signal.throwIfAborted()
    if (!(await registry.hasBlob(place, digest))) await registry.putBlob(place, digest, bytes())
  }
  for (const { digest, file } of layers)
    await put(digest, () => createReadStream(file, { highWaterMark: 2 ** 20 }))
  await put(configDigest, async function* () {
    yield config
  })
  const manifest = {
    ...{ schemaVersion: 2, mediaType: MANIFEST },
    config: { mediaType: CONFIG, digest: configDigest, size: config.length },
    layers: layers.map(({ mediaType, digest, bytes: size }) => ({ mediaType, digest, size })),
  }
  const digest = await registry.putManifest(place, tag, MANIFEST, Buffer.from(JSON.stringify(manifest)))
  return { digest, bytes: layers.reduce((sum, { bytes }) => sum + bytes, 0) }
}
