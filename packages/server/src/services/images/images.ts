/**
 * Where the roots of workloads come from beside the machine's own: templates of the operator, and images that everybody
 * may pull from a registry. They are unpacked once and stay while somebody needs them, or there is room.
 */
import { readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Clock } from "../../kernel/clock.ts"
import { createMutex } from "../../kernel/concurrency/semaphore.ts"
import { fault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import type { Root } from "../../ports/runtime/port.ts"
import { ImageError, ImagesStoppedError } from "./image-error.ts"
import { emptyConfig, type ImageConfig } from "./manifest.ts"
import { createPuller, type ImageParts } from "./pulling.ts"
import { formatReference, parseReference, registryUrl } from "./reference.ts"
import { createRegistry } from "./registry.ts"
import { createSharing } from "./sharing.ts"
import { openImageStore } from "./store.ts"
import { createTemplates, type Template } from "./templates.ts"
import { unpackInThread } from "./unpacking.ts"

/** The machine's own programs. */
export const HOST = "host-rootfs"

export interface Image {
  /** Null of the host, and of a template that is a directory: what it is now is what it is. */
  readonly digest: string | null
  readonly root: Root
  readonly config: ImageConfig
}

export interface Images extends AsyncDisposable {
  /** What the name `host-rootfs` stands for. */
  readonly host: Image
  /** Throws `invalid_parameter` for an invalid or forbidden image name, without network access. */
  check(name: string): void
  /** What the name stands for, if that is known and unpacked. */
  find(name: string): Image | undefined
  /**
   * The same, pulled and unpacked where it must be. With a digest, that image, whatever the name stands for by now.
   * Rejects with an ImageError that tells the person who named it why not, or an ImagesStoppedError.
   */
  prepare(name: string, digest?: string | null): Promise<Image>
  /**
   * The layers of an image as files, for who makes others of it: of a template that is an archive, or pulled into a folder
   * that is there and empty. Nothing is stored. Rejects as `prepare`.
   */
  parts(name: string, folder: string, until: AbortSignal): Promise<ImageParts>
  /**
   * Lays layers, lowest first, over what is in a directory that nobody uses meanwhile; gives their bytes. Rejects as
   * `prepare`.
   */
  unpack(layers: readonly string[], directory: string, until: AbortSignal): Promise<number>
  /** Names images that must stay, by digest; asked whenever some are to be removed. */
  keep(digests: () => Promise<readonly string[]>): void
}

export interface ImageSettings {
  /** Of one image, uncompressed. */
  readonly imageBytesMax: number
  /** Of all together; what is needed stays beyond it. */
  readonly storeBytesMax: number
  /** Whose images are pulled; undefined: anybody's. */
  readonly registries: readonly string[] | undefined
}

/** What a tag stands for is asked again after this. */
const FRESH_MS = 5 * 60_000
const ENTRIES_MAX = 1_000_000
const KNOWN_MAX = 10_000

const host: Image = { digest: null, root: { kind: "host" }, config: emptyConfig }

/** Which digest a name stood for and when that was asked, kept over restarts. */
const openKnown = async (file: string) => {
  type Entry = readonly [key: string, found: { readonly digest: string; readonly atMs: number }]
  const read = async (): Promise<readonly Entry[]> =>
    JSON.parse(await readFile(file, "utf8")) as readonly Entry[]
  const known = new Map(await read().catch(() => []))
  const writes = createMutex()
  const write = async () => {
    await writeFile(`${file}.new`, JSON.stringify([...known]), { mode: 0o600 })
    await rename(`${file}.new`, file)
  }
  return {
    get: (key: string) => known.get(key),
    set(key: string, digest: string, atMs: number): Promise<void> {
      known.delete(key)
      known.set(key, { digest, atMs })
      for (const oldest of known.keys()) {
        if (known.size <= KNOWN_MAX) break
        known.delete(oldest)
      }
      return writes.run(write)
    },
  }
}

const keyOf = (name: string, template: Template | undefined): string | undefined => {
  if (template?.kind === "archive") return `template:${name}:${template.version}`
  const reference = parseReference(name)
  return reference && formatReference(reference)
}

export const openImages = async (
  needs: ImageSettings & {
    dataDir: string
    outbound: Outbound
    clock: Clock
    log: Logger
    stopping: AbortSignal
  },
): Promise<Images> => {
  const { dataDir, outbound, clock, log, registries, imageBytesMax } = needs
  const directory = join(dataDir, "images")
  const store = await openImageStore({ directory, bytesMax: needs.storeBytesMax, clock, log })
  const templateOf = createTemplates(join(dataDir, "templates"))
  const known = await openKnown(join(directory, "known.json"))
  const closing = new AbortController()
  const signal = AbortSignal.any([needs.stopping, closing.signal])
  const limits = { bytesMax: imageBytesMax, entriesMax: ENTRIES_MAX }
  const puller = createPuller({
    ...{ store, registry: createRegistry(outbound, () => clock.now()), signal },
    limits,
  })
  const sharing = createSharing<Image>()
  const keepers: (() => Promise<readonly string[]>)[] = []

  const stored = (digest: string): Image | undefined => {
    const image = store.find(digest)
    return image && { digest, root: { kind: "image", directory: image.directory }, config: image.config }
  }

  const collect = async () => {
    const kept = new Set((await Promise.all(keepers.map(digests => digests()))).flat())
    await store.collect(digest => kept.has(digest))
  }

  const find = (name: string): Image | undefined => {
    if (name === HOST) return host
    const template = templateOf(name)
    if (template?.kind === "directory")
      return { digest: null, root: { kind: "image", directory: template.path }, config: emptyConfig }
    const key = keyOf(name, template)
    const found = key === undefined ? undefined : known.get(key)
    if (!found) return undefined
    const changes = template === undefined && !key?.includes("@")
    return changes && clock.now() - found.atMs > FRESH_MS ? undefined : stored(found.digest)
  }

  /** Resolves the name; if the registry cannot be reached, to the image of the last pull. */
  const fetch = async (name: string): Promise<string> => {
    const template = templateOf(name)
    if (template?.kind === "archive") return await puller.unpack(template.path)
    const reference = parseReference(name)
    if (!reference) throw new ImageError(`${name} names no image`)
    try {
      return await puller.pull(reference)
    } catch (error) {
      const before = known.get(formatReference(reference))
      if (!before || !stored(before.digest) || signal.aborted) throw error
      log.warn({ err: error, image: name }, "pulling an image failed; using the copy pulled earlier")
      return before.digest
    }
  }

  const bring = async (name: string, digest: string | null): Promise<Image> => {
    const reference = templateOf(name) ? undefined : parseReference(name)
    const exact = digest !== null && reference ? formatReference({ ...reference, digest }) : name
    const got = await fetch(exact)
    if (digest !== null && got !== digest)
      throw new ImageError(`the template ${name} is not any more what this was made from`)
    const key = keyOf(exact, templateOf(exact))
    if (key !== undefined) await known.set(key, got, clock.now())
    const image = stored(got)
    if (!image) throw new ImageError(`the image ${name} is not there any more`)
    await collect().catch(error => log.error({ err: error }, "removing unused images failed; will retry"))
    return image
  }

  return {
    host,
    check(name) {
      if (name === HOST || templateOf(name)) return
      const refuse = (reason: string) => fault("invalid_parameter", { reason })
      const reference = parseReference(name)
      if (!reference)
        throw refuse(
          `${name.slice(0, 200)} is neither \`host\`, a template of this installation nor an image such as debian:12 or ghcr.io/owner/name@sha256:…`,
        )
      if (registries && !registries.includes(reference.registry))
        throw refuse(`images are not pulled from ${reference.registry} here (SVC_IMAGE_REGISTRIES)`)
      const problem = outbound.urlProblem(`${registryUrl(reference.registry)}/v2/`)
      if (problem !== undefined)
        throw refuse(`the registry ${reference.registry} is out of bounds: ${problem}`)
    },
    find,
    async prepare(name, digest = null) {
      const ready = digest === null ? find(name) : stored(digest)
      if (ready) return ready
      const key = keyOf(name, templateOf(name)) ?? name
      return await sharing
        .share(`${key} ${digest}`, () => bring(name, digest))
        .catch(error => {
          throw signal.aborted ? new ImagesStoppedError("the server is shutting down") : error
        })
    },
    async parts(name, folder, until) {
      const template = templateOf(name)
      if (template?.kind === "archive") return await puller.open(template.path, folder, until)
      if (template) throw new ImageError(`the template ${name} is a directory, which has no layers`)
      const reference = parseReference(name)
      if (!reference) throw new ImageError(`${name.slice(0, 200)} names no image`)
      return await puller.fetch(reference, folder, until)
    },
    async unpack(files, root, until) {
      const task = { kind: "layers", files, root, workingDir: null, limits } as const
      return (await unpackInThread(task, AbortSignal.any([signal, until]))).bytes
    },
    keep: digests => void keepers.push(digests),
    async [Symbol.asyncDispose]() {
      closing.abort()
      await Promise.allSettled(sharing.all())
      await store[Symbol.asyncDispose]()
    },
  }
}
