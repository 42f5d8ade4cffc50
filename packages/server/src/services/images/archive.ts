/** Images in files: what `docker save` writes, an OCI layout, or the files of a root alone, each as a tar. */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { ImageError } from "./image-error.ts"
import { chosenOf, configOf, emptyConfig, type ImageConfig, manifestOf, parseJson } from "./manifest.ts"
import { sha256 } from "./registry.ts"
import type { UnpackLimits } from "./unpack.ts"
import { fileOf } from "./unpack-task.ts"
import { unpackInThread } from "./unpacking.ts"

/** An image whose layers are files here, lowest first. */
export interface Parts {
  readonly digest: string
  readonly config: ImageConfig
  /** What the configuration was read from; empty where there is none. */
  readonly document: Readonly<Record<string, unknown>>
  readonly layers: readonly string[]
}

export const digestOf = async (file: string): Promise<string> => {
  const hash = createHash("sha256")
  await pipeline(createReadStream(file, { highWaterMark: 2 ** 20 }), hash)
  return `sha256:${hash.digest("hex")}`
}

const nameOf = (digest: string): string => `blobs/sha256/${digest.slice("sha256:".length)}`

const fromLayout = async (has: (name: string) => string): Promise<Parts> => {
  const read = async (digest: string) => {
    const bytes = await readFile(has(nameOf(digest)))
    if (sha256(bytes) !== digest) throw new ImageError(`the archive has something else as ${digest}`)
    return parseJson(bytes, "the manifest")
  }
  let document = parseJson(await readFile(has("index.json")), "index.json")
  let digest = ""
  // An index may name another one, and that the manifest.
  for (let depth = 0; depth < 3; depth += 1) {
    const chosen = chosenOf(document)
    if (!chosen) break
    digest = chosen.digest
    document = await read(digest)
  }
  const manifest = manifestOf(document)
  const layers = manifest.layers.map(layer => has(nameOf(layer.digest)))
  for (const [index, { digest: told }] of manifest.layers.entries())
    if ((await digestOf(layers[index] ?? "")) !== told)
      throw new ImageError(`the archive has something else as ${told}`)
  const image = await read(manifest.config.digest)
  return { digest, config: configOf(image), document: image, layers }
}

/** `docker save` before Docker 25: manifest.json names the configuration and the layers by their files. */
const fromDocker = async (has: (name: string) => string): Promise<Parts> => {
  const list: unknown = JSON.parse(await readFile(has("manifest.json"), "utf8"))
  const [first] = Array.isArray(list) ? list : []
  const { Config, Layers } = (first ?? {}) as { Config?: unknown; Layers?: unknown }
  if (typeof Config !== "string" || !Array.isArray(Layers) || Layers.some(layer => typeof layer !== "string"))
    throw new ImageError("the archive's manifest.json names no image")
  const bytes = await readFile(has(Config))
  const document = parseJson(bytes, "the configuration")
  const config = configOf(document)
  return { digest: sha256(bytes), config, document, layers: Layers.map(layer => has(layer as string)) }
}

/** Takes the archive apart into a directory that is there. */
export const openArchive = async (
  file: string,
  directory: string,
  limits: UnpackLimits,
  signal: AbortSignal,
): Promise<Parts> => {
  const parts = join(directory, "parts")
  await mkdir(parts)
  const { names } = await unpackInThread({ kind: "archive", file, directory: parts, limits }, signal)
  const has = (name: string): string => {
    if (!names.includes(name)) throw new ImageError(`the archive lacks ${name.slice(0, 200)}`)
    return join(parts, fileOf(name))
  }
  if (names.includes("index.json")) return await fromLayout(has)
  if (names.includes("manifest.json")) return await fromDocker(has)
  return { digest: await digestOf(file), config: emptyConfig, document: {}, layers: [file] }
}
