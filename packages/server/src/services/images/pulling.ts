/** From names to unpacked images. */
import { join } from "node:path"
import { createSemaphore } from "../../kernel/concurrency/semaphore.ts"
import { openArchive } from "./archive.ts"
import { ImageError } from "./image-error.ts"
import { configOf, type Descriptor, type ImageConfig, type Manifest, parseJson } from "./manifest.ts"
import type { Reference } from "./reference.ts"
import type { Registry, ResolvedImage } from "./registry.ts"
import type { ImageStore } from "./store.ts"
import type { UnpackLimits } from "./unpack.ts"
import { unpackInThread } from "./unpacking.ts"

/** An image as its registry or archive has it, with its layers as files, lowest first. */
export interface ImageParts {
  /** Of the manifest; of an archive without one, of itself. */
  readonly digest: string
  /** The image's configuration, as it was found; empty where there is none. */
  readonly document: Readonly<Record<string, unknown>>
  readonly layers: readonly string[]
}

export interface Puller {
  /** Gives the digest of what is then in the store. */
  pull(reference: Reference): Promise<string>
  /** The same of an archive. */
  unpack(file: string): Promise<string>
  /** All of an image into files of a folder that is there and empty; nothing of it is stored. */
  fetch(reference: Reference, folder: string, until: AbortSignal): Promise<ImageParts>
  /** The same of an archive. */
  open(file: string, folder: string, until: AbortSignal): Promise<ImageParts>
}

/** Unpacking is bound by this machine's disk. */
const PULLS_AT_ONCE = 4
const DOWNLOADS_AT_ONCE = 3

export const createPuller = (needs: {
  store: ImageStore
  registry: Registry
  limits: UnpackLimits
  signal: AbortSignal
}): Puller => {
  const { store, registry, limits, signal } = needs
  const semaphore = createSemaphore(PULLS_AT_ONCE)

  const unpackInto = async (folder: string, files: readonly string[], config: ImageConfig) => {
    const root = join(folder, "root")
    const { workingDir } = config
    const { bytes, isOpenToAll } = await unpackInThread(
      { kind: "layers", files, root, workingDir, limits },
      signal,
    )
    return { bytes, config: { ...config, workingDir: isOpenToAll ? workingDir : null } }
  }

  /** Each layer once, into a file that has its name. */
  const download = async (
    reference: Reference,
    layers: readonly Descriptor[],
    folder: string,
    until = signal,
  ) => {
    const fileOf = ({ digest }: Descriptor) => join(folder, digest.replace(":", "-"))
    const left = [...new Map(layers.map(layer => [layer.digest, layer])).values()]
    const failed = new AbortController()
    const either = AbortSignal.any([until, failed.signal])
    const work = async () => {
      for (let layer = left.shift(); layer; layer = left.shift())
        await registry.download(reference, layer, fileOf(layer), either)
    }
    const workers = Array.from({ length: DOWNLOADS_AT_ONCE }, () =>
      work().catch(error => {
        failed.abort()
        throw error
      }),
    )
    const [outcome] = await Promise.allSettled([Promise.all(workers), Promise.allSettled(workers)])
    if (outcome.status === "rejected") throw outcome.reason
    return layers.map(fileOf)
  }

  const checkSize = ({ layers }: Manifest) => {
    const sum = layers.reduce((total, { size }) => total + size, 0)
    if (sum > limits.bytesMax) throw new ImageError("the image is larger than is allowed here")
  }

  const bring = (reference: Reference, { digest, manifest }: ResolvedImage) =>
    store.add(digest, folder =>
      store.temporary(async blobs => {
        checkSize(manifest)
        const bytes = await registry.read(reference, manifest.config, signal)
        const config = configOf(parseJson(bytes, "the image's configuration"))
        return await unpackInto(folder, await download(reference, manifest.layers, blobs), config)
      }),
    )

  return {
    pull: reference =>
      semaphore.run(async () => {
        const found = await registry.find(reference, signal)
        if (!store.find(found.digest)) await bring(reference, found)
        return found.digest
      }),
    unpack: file =>
      semaphore.run(() =>
        store.temporary(async folder => {
          const { digest, config, layers } = await openArchive(file, folder, limits, signal)
          if (!store.find(digest)) await store.add(digest, made => unpackInto(made, layers, config))
          return digest
        }),
      ),
    fetch: (reference, folder, until) =>
      semaphore.run(async () => {
        const either = AbortSignal.any([signal, until])
        const { digest, manifest } = await registry.find(reference, either)
        checkSize(manifest)
        const bytes = await registry.read(reference, manifest.config, either)
        const document = parseJson(bytes, "the image's configuration")
        configOf(document)
        return { digest, document, layers: await download(reference, manifest.layers, folder, either) }
      }),
    open: (file, folder, until) =>
      semaphore.run(async () => {
        const { digest, document, layers } = await openArchive(
          file,
          folder,
          limits,
          AbortSignal.any([signal, until]),
        )
        return { digest, document, layers }
      }),
  }
}
