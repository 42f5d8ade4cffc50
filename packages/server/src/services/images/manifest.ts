/** What registries and archives say of images (OCI image specification 1.1, Docker's manifest schema 2). */
import { isJsonObject } from "../../kernel/json-object.ts"
import { ImageError } from "./image-error.ts"
import { DIGEST } from "./reference.ts"

export interface Descriptor {
  readonly digest: string
  readonly size: number
}

export interface Manifest {
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

/** What an image says of what is run in it. */
export interface ImageConfig {
  readonly env: Readonly<Record<string, string>>
  readonly entrypoint: readonly string[]
  readonly cmd: readonly string[]
  /** Null where it names none, or one that its users may not enter. */
  readonly workingDir: string | null
  /** As in the Dockerfile: a name or a number, perhaps with a group. */
  readonly user: string | null
  /** TCP. */
  readonly exposedPorts: readonly number[]
}

export const emptyConfig: ImageConfig = {
  ...{ env: {}, entrypoint: [], cmd: [], workingDir: null, user: null, exposedPorts: [] },
}

const INDEX = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
]
const MANIFEST = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
]
export const manifestTypes = [...INDEX, ...MANIFEST].join(", ")

const LAYERS_MAX = 256
const ENV_BYTES_MAX = 65_536
const WORDS_BYTES_MAX = 65_536

type Json = Readonly<Record<string, unknown>>

const objectOf = (value: unknown): Json => (isJsonObject(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null)

export const parseJson = (bytes: Buffer, what: string): Json => {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"))
    if (isJsonObject(value)) return value
  } catch {
    // Told below.
  }
  throw new ImageError(`${what} is not a JSON object`)
}

const descriptorOf = (value: unknown): Descriptor => {
  const { digest, size } = objectOf(value)
  if (typeof digest !== "string" || !DIGEST.test(digest))
    throw new ImageError("the manifest names content by something else than a SHA-256 digest")
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
    throw new ImageError("the manifest does not say how large its parts are")
  return { digest, size }
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" }
export const architecture = architectures[process.arch] ?? process.arch

const isForThisMachine = (entry: unknown): boolean => {
  const platform = objectOf(objectOf(entry).platform)
  return platform.os === "linux" && platform.architecture === architecture
}

/** Of an index the manifest that is for this machine; undefined for what is none. */
export const chosenOf = (document: Json): Descriptor | undefined => {
  if (!Array.isArray(document.manifests)) return undefined
  const entries = listOf(document.manifests)
  // One alone need not say what it is for.
  const only = entries.length === 1 && objectOf(entries[0]).platform === undefined ? entries[0] : undefined
  const found = only ?? entries.find(isForThisMachine)
  if (found === undefined) throw new ImageError(`the image is not made for linux/${architecture}`)
  return descriptorOf(found)
}

export const manifestOf = (document: Json): Manifest => {
  if (!isJsonObject(document.config) || !Array.isArray(document.layers))
    throw new ImageError("the manifest is of a kind that is not known here")
  const layers = listOf(document.layers)
  if (layers.length > LAYERS_MAX) throw new ImageError(`the image has more than ${LAYERS_MAX} layers`)
  if (layers.some(layer => listOf(objectOf(layer).urls).length > 0))
    throw new ImageError("the image has layers that are kept elsewhere")
  return { config: descriptorOf(document.config), layers: layers.map(descriptorOf) }
}

const envOf = (value: unknown): Record<string, string> => {
  const env: Record<string, string> = {}
  let bytes = 0
  for (const entry of listOf(value)) {
    if (typeof entry !== "string" || entry.includes("\0")) continue
    const at = entry.indexOf("=")
    bytes += Buffer.byteLength(entry)
    if (at < 1) continue
    Object.defineProperty(env, entry.slice(0, at), {
      value: entry.slice(at + 1),
      enumerable: true,
      configurable: true,
    })
  }
  if (bytes > ENV_BYTES_MAX) throw new ImageError("the image has more than 64 KiB of environment")
  return env
}

const wordsOf = (value: unknown): string[] => {
  const words = listOf(value).filter(word => typeof word === "string")
  if (Buffer.byteLength(words.join("")) > WORDS_BYTES_MAX)
    throw new ImageError("the image's command is too long")
  return words
}

const portsOf = (value: unknown): number[] => {
  const ports = Object.keys(objectOf(value)).map(text => Number(/^(\d{1,5})(?:\/tcp)?$/.exec(text)?.[1]))
  return ports.filter(port => port > 0 && port < 65_536).sort((one, other) => one - other)
}

/** From the image's configuration; `workingDir` is as it says. */
export const configOf = (document: Json): ImageConfig => {
  const { os, architecture: made } = document
  if ((os ?? "linux") !== "linux" || (made ?? architecture) !== architecture)
    throw new ImageError(`the image is made for ${os}/${made}, not for linux/${architecture}`)
  const config = objectOf(document.config)
  return {
    env: envOf(config.Env),
    entrypoint: wordsOf(config.Entrypoint),
    cmd: wordsOf(config.Cmd),
    workingDir: textOf(config.WorkingDir),
    user: textOf(config.User),
    exposedPorts: portsOf(config.ExposedPorts),
  }
}
