/** What FROM and `--from` name beside stages: images of the project, of this installation, and of public registries. */

import { createWriteStream } from "node:fs"
import { link, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { isJsonObject } from "../../../kernel/json-object.ts"
import type { Offer } from "../../../kernel/offer.ts"
import { ImageError } from "../../../services/images/image-error.ts"
import type { Images } from "../../../services/images/images.ts"
import type { ProjectImages } from "../../registry/offers.ts"
import { BuildError } from "../build-error.ts"
import { type Layer, layerOf } from "./layers.ts"
import { findMadeBase, makeBase } from "./made-bases.ts"
import type { Base, Bases, Tenant } from "./types.ts"

type Json = Readonly<Record<string, unknown>>

export interface BasesNeeds {
  readonly images: Images
  readonly registry: Offer<ProjectImages>
  /** Of registries of this installation, as references begin: `example.com:8080`. */
  readonly host: string
  /** Where base images are kept between builds, and how much of them. */
  readonly directory: string
  readonly bytesMax: number
  readonly now: () => number
}

const FRESH_MS = 5 * 60_000
const KNOWN_MAX = 1_000
const REFERENCE = /^(.+?)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/
const REPOSITORY = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/
const DIGEST = /^sha256:[0-9a-f]{64}$/

const digestsIn = (value: unknown): string[] => {
  const list = Array.isArray(value) ? value : [value]
  return list.map(each => {
    const digest = isJsonObject(each) ? each.digest : undefined
    if (typeof digest !== "string" || !DIGEST.test(digest)) throw new BuildError("the base image is damaged")
    return digest
  })
}

/** Of the project's own registry: its name there, where a reference may mean it. */
const ownName = (host: string, projectId: string, name: string): string | undefined => {
  const prefix = `${host}/${projectId}/`
  if (name.startsWith(prefix)) return name.slice(prefix.length)
  return REPOSITORY.test(name) ? name : undefined
}

const parse = (content: Buffer): Json => {
  const value: unknown = JSON.parse(content.toString())
  if (!isJsonObject(value)) throw new BuildError("the base image is damaged")
  return value
}

const sizesOf = async (files: readonly string[], signal: AbortSignal): Promise<Layer[]> => {
  const layers: Layer[] = []
  for (const file of files) layers.push(await layerOf(file, signal))
  return layers
}

/** Those of the project, which may be new at any time: read from its registry for each build. */
const createOwn = ({ registry, host }: BasesNeeds) => {
  const read = async (
    store: ProjectImages,
    place: Tenant & { readonly repository: string },
    digest: string,
    file: string,
  ) => {
    const body = await store.readBlob(place, digest)
    await pipeline(body, createWriteStream(file, { mode: 0o600 }))
    return file
  }

  return async (
    tenant: Tenant,
    name: string,
    folder: string,
    signal: AbortSignal,
  ): Promise<Base | undefined> => {
    const [, path = "", tag = "latest", named] = REFERENCE.exec(name) ?? []
    const repository = ownName(host, tenant.projectId, path)
    const store = repository === undefined ? undefined : await registry.get()
    if (!store || repository === undefined) return undefined
    const place = { ...tenant, repository }
    const found = await store.manifest(place, named ?? tag)
    if (!found) return undefined
    const manifest = parse(found.content)
    if (!Array.isArray(manifest.layers))
      throw new BuildError(`${name} is an index, of which no image is chosen`)
    const [configDigest = ""] = digestsIn(manifest.config)
    const config = await read(store, place, configDigest, join(folder, "config"))
    const files: string[] = []
    for (const digest of digestsIn(manifest.layers))
      files.push(await read(store, place, digest, join(folder, digest.replace(":", "-"))))
    return {
      digest: found.digest,
      document: parse(await readFile(config)),
      layers: await sizesOf(files, signal),
    }
  }
}

type Kept = Omit<Base, "layers"> & {
  readonly layers: readonly (Omit<Layer, "file"> & { readonly name: string })[]
}

/** Those that are the same for everybody, kept as they were found. */
const createShared = ({ images, directory, bytesMax, now }: BasesNeeds) => {
  const known = new Map<string, { readonly digest: string; readonly atMs: number }>()
  const folderOf = (digest: string) => join(directory, digest.replace(":", "-"))

  const load = async (digest: string, folder: string): Promise<Base | undefined> => {
    try {
      const from = folderOf(digest)
      const kept = JSON.parse(await readFile(join(from, "base.json"), "utf8")) as Kept
      const layers: Layer[] = []
      for (const { name, ...layer } of kept.layers) {
        const file = join(folder, name)
        await link(join(from, name), file)
        layers.push({ ...layer, file })
      }
      const at = new Date()
      await utimes(from, at, at)
      return { ...kept, layers }
    } catch {
      return undefined
    }
  }

  const keep = async ({ digest, document, layers }: Base) => {
    const beside = `${folderOf(digest)}.new`
    await rm(beside, { recursive: true, force: true })
    await mkdir(beside, { recursive: true, mode: 0o700 })
    const named: Kept["layers"][number][] = []
    for (const { file, ...layer } of layers) {
      const name = basename(file)
      await link(file, join(beside, name)).catch(() => undefined)
      named.push({ ...layer, name })
    }
    await writeFile(join(beside, "base.json"), JSON.stringify({ digest, document, layers: named }))
    await rm(folderOf(digest), { recursive: true, force: true })
    await rename(beside, folderOf(digest))
  }

  /** Builds under way have links of their own to what is removed. */
  const collect = async () => {
    const kept: { path: string; bytes: number; usedMs: number }[] = []
    for (const name of await readdir(directory)) {
      const path = join(directory, name)
      const text = await readFile(join(path, "base.json"), "utf8").catch(() => undefined)
      const layers = text === undefined ? [] : (JSON.parse(text) as Kept).layers
      const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0)
      kept.push({ path, bytes, usedMs: (await stat(path)).mtimeMs })
    }
    let bytes = kept.reduce((sum, each) => sum + each.bytes, 0)
    for (const each of kept.sort((one, other) => one.usedMs - other.usedMs)) {
      if (bytes <= bytesMax) return
      bytes -= each.bytes
      await rm(each.path, { recursive: true, force: true })
    }
  }

  const fetch = async (name: string, folder: string, signal: AbortSignal): Promise<Base> => {
    const made = await findMadeBase(name)
    if (made) return (await load(made.digest, folder)) ?? (await makeBase(made, folder, signal))
    images.check(name)
    const { digest, document, layers } = await images.parts(name, folder, signal)
    return { digest, document, layers: await sizesOf(layers, signal) }
  }

  return async (name: string, folder: string, signal: AbortSignal): Promise<Base> => {
    const before = known.get(name)
    const isFresh = before && now() - before.atMs < FRESH_MS
    const ready = isFresh ? await load(before.digest, folder) : undefined
    if (ready) return ready
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { mode: 0o700 })
    const base = await fetch(name, folder, signal)
    await keep(base)
    await collect()
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(name, { digest: base.digest, atMs: now() })
    return base
  }
}

export const createBases = (needs: BasesNeeds): Bases => {
  const [own, shared] = [createOwn(needs), createShared(needs)]
  return {
    async find(tenant, name, folder, signal) {
      try {
        return (await own(tenant, name, folder, signal)) ?? (await shared(name, folder, signal))
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof ImageError) throw new BuildError(`FROM ${name}: ${error.message}`)
        throw error
      }
    },
  }
}

/** The image without files. */
export const scratch: Base = { digest: "scratch", document: {}, layers: [] }
