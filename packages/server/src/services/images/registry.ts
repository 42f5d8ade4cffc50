/**
 * Reads images from registries (OCI distribution specification 1.1), as far as anybody may without an account: they hand
 * out tokens to whoever asks (distribution.github.io/distribution/spec/auth/token).
 */
import { createHash } from "node:crypto"
import { open } from "node:fs/promises"
import {
  type Failure,
  type Outbound,
  OutboundError,
  type OutboundResponse,
} from "../../kernel/outbound/outbound.ts"
import { ImageError } from "./image-error.ts"
import { chosenOf, type Descriptor, type Manifest, manifestOf, manifestTypes, parseJson } from "./manifest.ts"
import { type Reference, registryUrl } from "./reference.ts"

export interface ResolvedImage {
  /** Of the manifest that is for this machine. */
  readonly digest: string
  readonly manifest: Manifest
}

export interface Registry {
  /** What the reference names now. */
  find(reference: Reference, signal: AbortSignal): Promise<ResolvedImage>
  /** A small part, whole. */
  read(reference: Reference, part: Descriptor, signal: AbortSignal): Promise<Buffer>
  /** A part into a file, which is complete and what the digest says, or the call rejects. */
  download(reference: Reference, part: Descriptor, file: string, signal: AbortSignal): Promise<void>
}

const MANIFEST_BYTES_MAX = 4 * 2 ** 20
const REDIRECTS_MAX = 5
/** A registry that sends less is given up. */
const BYTES_PER_SECOND_MIN = 128 * 1024
const BLOB_MS_MIN = 60_000
const BLOB_MS_MAX = 30 * 60_000
const MANIFEST_MS = 20_000
/** Of tokens that do not say how long they last, as the specification has it. */
const TOKEN_SECONDS = 60
const TOKENS_MAX = 1_000
const TOKEN_BYTES_MAX = 12 * 1024

type Token = { readonly value: string; readonly untilMs: number }

export const sha256 = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

/** The parameters of a Bearer challenge (RFC 6750 section 3); undefined for another. */
export const challengeOf = (header: string | undefined): ReadonlyMap<string, string> | undefined => {
  const [, rest] = /^\s*Bearer\s+(.*)$/i.exec(header ?? "") ?? []
  if (rest === undefined) return undefined
  const found = rest.matchAll(/([a-z_]+)=(?:"([^"]*)"|([^\s,"]+))/gi)
  return new Map([...found].map(([, name = "", quoted, bare = ""]) => [name.toLowerCase(), quoted ?? bare]))
}

const unanswered = (registry: string, { message }: { readonly message: string }): ImageError =>
  new ImageError(`the registry ${registry} cannot be read: ${message}`)

const refusal = (status: number, { registry, repository }: Reference): ImageError => {
  const name = `${registry}/${repository}`
  if (status === 401 || status === 403 || status === 404)
    return new ImageError(`there is no such image that everybody may pull: ${name} (${status})`)
  if (status === 429)
    return new ImageError(`the registry ${registry} asks for fewer pulls from here; try again later`)
  return new ImageError(`the registry ${registry} answered with ${status}`)
}

const createTokens = (outbound: Outbound, now: () => number) => {
  const tokens = new Map<string, Token>()
  const keyOf = ({ registry, repository }: Reference) => `${registry}/${repository}`

  return {
    of(reference: Reference): string | undefined {
      const token = tokens.get(keyOf(reference))
      return token && token.untilMs > now() ? token.value : undefined
    },
    /** Asks for one as a challenge says. */
    async fetch(reference: Reference, header: string | undefined, signal: AbortSignal): Promise<string> {
      const challenge = challengeOf(header)
      const realm = challenge?.get("realm")
      if (!challenge || realm === undefined || !URL.canParse(realm)) throw refusal(401, reference)
      const url = new URL(realm)
      const service = challenge.get("service")
      if (service !== undefined) url.searchParams.set("service", service)
      url.searchParams.set("scope", `repository:${reference.repository}:pull`)
      const answer = await outbound.request({ url: url.href, timeoutMs: MANIFEST_MS, signal })
      if (answer.kind !== "answered") throw unanswered(reference.registry, answer)
      if (answer.status !== 200) throw refusal(answer.status, reference)
      const { token, access_token, expires_in } = parseJson(answer.body, "the registry's token")
      const value = token ?? access_token
      if (typeof value !== "string" || value === "" || value.length > TOKEN_BYTES_MAX)
        throw refusal(401, reference)
      const seconds = typeof expires_in === "number" && expires_in > 0 ? expires_in : TOKEN_SECONDS
      if (tokens.size >= TOKENS_MAX) tokens.clear()
      // Some are used up while what they were asked for is on its way.
      tokens.set(keyOf(reference), { value, untilMs: now() + seconds * 900 })
      return value
    },
  }
}

/** Writes what comes to a new file, and checks that it is what was asked for. */
const store = async (
  body: AsyncIterable<Buffer>,
  { digest, size }: Descriptor,
  file: string,
): Promise<void> => {
  const hash = createHash("sha256")
  let bytes = 0
  const handle = await open(file, "wx", 0o600)
  try {
    for await (const chunk of body) {
      hash.update(chunk)
      bytes += chunk.length
      await handle.writeFile(chunk)
    }
  } finally {
    await handle.close()
  }
  if (bytes !== size || `sha256:${hash.digest("hex")}` !== digest)
    throw new ImageError(`the registry sent something else than ${digest}`)
}

export const createRegistry = (outbound: Outbound, now: () => number): Registry => {
  const tokens = createTokens(outbound, now)

  /** The answer to a call with a token where one is asked for. */
  const call = async <Sent extends OutboundResponse<unknown>>(
    reference: Reference,
    signal: AbortSignal,
    send: (headers: Record<string, string>) => Promise<Sent | Failure>,
    giveUp: (answer: Sent) => void,
  ): Promise<Sent> => {
    const known = tokens.of(reference)
    let answer = await send(known === undefined ? {} : { authorization: `Bearer ${known}` })
    if (answer.kind === "answered" && answer.status === 401) {
      giveUp(answer)
      const token = await tokens.fetch(reference, answer.headers["www-authenticate"], signal)
      answer = await send({ authorization: `Bearer ${token}` })
    }
    if (answer.kind !== "answered") throw unanswered(reference.registry, answer)
    if (answer.status === 200) return answer
    giveUp(answer)
    throw refusal(answer.status, reference)
  }

  const get = async (reference: Reference, path: string, bytesMax: number, signal: AbortSignal) => {
    const request = {
      url: `${registryUrl(reference.registry)}/v2/${reference.repository}/${path}`,
      ...{ redirectsMax: REDIRECTS_MAX, timeoutMs: MANIFEST_MS, responseBytesMax: bytesMax, signal },
      overflow: "fail" as const,
    }
    const send = (headers: Record<string, string>) =>
      outbound.request({ ...request, headers: { accept: manifestTypes, ...headers } })
    return (await call(reference, signal, send, () => undefined)).body
  }

  const manifestAt = async (reference: Reference, name: string, signal: AbortSignal) => {
    const bytes = await get(reference, `manifests/${name}`, MANIFEST_BYTES_MAX, signal)
    const digest = sha256(bytes)
    if (name.startsWith("sha256:") && name !== digest)
      throw new ImageError(`the registry sent something else than ${name}`)
    return { digest, document: parseJson(bytes, "the manifest") }
  }

  return {
    async find(reference, signal) {
      const first = await manifestAt(reference, reference.digest ?? reference.tag, signal)
      const chosen = chosenOf(first.document)
      const { digest, document } = chosen ? await manifestAt(reference, chosen.digest, signal) : first
      return { digest, manifest: manifestOf(document) }
    },

    async read(reference, { digest, size }, signal) {
      if (size > MANIFEST_BYTES_MAX) throw new ImageError("the image's configuration is too long")
      const bytes = await get(reference, `blobs/${digest}`, size, signal)
      if (sha256(bytes) !== digest) throw new ImageError(`the registry sent something else than ${digest}`)
      return bytes
    },

    async download(reference, part, file, signal) {
      const timeoutMs = Math.min(BLOB_MS_MAX, BLOB_MS_MIN + (part.size / BYTES_PER_SECOND_MIN) * 1000)
      const request = {
        url: `${registryUrl(reference.registry)}/v2/${reference.repository}/blobs/${part.digest}`,
        ...{ redirectsMax: REDIRECTS_MAX, timeoutMs, responseBytesMax: part.size, signal },
      }
      const send = (headers: Record<string, string>) => outbound.open({ ...request, headers })
      const { body } = await call(reference, signal, send, answer => void answer.body.destroy())
      try {
        await store(body, part, file)
      } catch (error) {
        throw error instanceof OutboundError ? unanswered(reference.registry, error) : error
      }
    },
  }
}
