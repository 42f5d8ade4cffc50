/** What ADD fetches and takes apart. */
import { hash } from "node:crypto"
import { createWriteStream } from "node:fs"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { type Outbound, OutboundError } from "../../kernel/outbound/outbound.ts"
import { ImageError } from "../../services/images/image-error.ts"
import { BuildError } from "./build-error.ts"
import type { Fetcher } from "./engine/copy-sources.ts"
import type { Unpack } from "./engine/roots.ts"

const BYTES_MAX = 1024 ** 3
const MS_MAX = 10 * 60_000
const REDIRECTS_MAX = 5

export const createFetcher = (outbound: Outbound, unpack: Unpack, signal: AbortSignal): Fetcher => ({
  async download(url, folder) {
    const request = {
      url,
      timeoutMs: MS_MAX,
      responseBytesMax: BYTES_MAX,
      redirectsMax: REDIRECTS_MAX,
      signal,
    }
    const answer = await outbound.open(request)
    if (answer.kind !== "answered") throw new BuildError(`${url} cannot be fetched: ${answer.message}`)
    if (answer.status !== 200) {
      answer.body.destroy()
      throw new BuildError(`${url} answered with ${answer.status}`)
    }
    const file = join(folder, `fetched-${hash("sha256", url)}`)
    try {
      await pipeline(answer.body, createWriteStream(file, { mode: 0o600 }), { signal })
    } catch (error) {
      signal.throwIfAborted()
      throw error instanceof OutboundError
        ? new BuildError(`${url} cannot be fetched: ${error.message}`)
        : error
    }
    return file
  },
  async unpack(file, folder) {
    try {
      await unpack([file], folder, signal)
    } catch (error) {
      throw error instanceof ImageError ? new BuildError(error.message) : error
    }
  },
})
