/** Unpacked images on this machine's disk: one folder each, complete or not there. */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { uptime } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import type { ImageConfig } from "./manifest.ts"
import { createSharing } from "./sharing.ts"

export interface Stored {
  readonly digest: string
  /** The unpacked filesystem. */
  readonly directory: string
  readonly config: ImageConfig
  /** Uncompressed. */
  readonly bytes: number
}

/** Once disposed of, nothing is written any more. */
export interface ImageStore extends AsyncDisposable {
  /** One that is there; it counts as used. */
  find(digest: string): Stored | undefined
  /** `fill` gets an empty folder and makes `root` in it; what it gives is kept with it. */
  add(digest: string, fill: (folder: string) => Promise<Pick<Stored, "config" | "bytes">>): Promise<Stored>
  /** A folder that is removed with what is in it. */
  temporary<Result>(use: (folder: string) => Promise<Result>): Promise<Result>
  /** Removes what was used least lately, until the rest fits. */
  collect(isKept: (digest: string) => boolean): Promise<void>
}

/** What was asked for a moment ago may not be on record as used yet. */
const GRACE_MS = 10 * 60_000
const TOUCH_EVERY_MS = 60_000

const folderOf = (digest: string): string => digest.replace(":", "-")

/**
 * What this machine's memory has of an image does not reach the disk when the machine goes down at the wrong moment. This
 * file says that it did; while the machine is up, it need not be there. Who waits for an image does not wait for the disk.
 */
const SETTLED = "settled"

const settle = async (folder: string, signal: AbortSignal): Promise<void> => {
  try {
    await promisify(execFile)("sync", ["-f", folder], { signal })
    await writeFile(join(folder, SETTLED), "")
  } catch {
    // Should the machine go down, it is pulled again.
  }
}

const isWhole = async (folder: string): Promise<boolean> => {
  const { birthtimeMs } = await stat(join(folder, "image.json"))
  if (birthtimeMs > Date.now() - uptime() * 1000) return true
  return (await readdir(folder)).includes(SETTLED)
}

export const openImageStore = async (needs: {
  directory: string
  bytesMax: number
  clock: Clock
  log: Logger
}): Promise<ImageStore> => {
  const { directory, bytesMax, clock, log } = needs
  const [unpackedAt, temporaryAt] = [join(directory, "unpacked"), join(directory, "tmp")]
  for (const path of [directory, unpackedAt, temporaryAt]) await mkdir(path, { recursive: true, mode: 0o700 })
  // Files of images have the owners of their archives, so no other user of this machine may enter.
  await chmod(directory, 0o700)
  const adding = createSharing<Stored>()
  const settling = createSharing<void>()
  const closing = new AbortController()
  const images = new Map<string, Stored & { usedMs: number; touchedMs: number }>()

  const discard = async (path: string) => {
    // Out of its name first: what is half removed must not be found.
    const gone = join(temporaryAt, randomUUID())
    await rename(path, gone)
    await rm(gone, { recursive: true, force: true })
  }

  const load = async (name: string): Promise<void> => {
    const folder = join(unpackedAt, name)
    try {
      if (!(await isWhole(folder))) throw new Error("the machine went down before it was on the disk")
      const record = join(folder, "image.json")
      const { digest, config, bytes } = JSON.parse(await readFile(record, "utf8")) as Stored
      const usedMs = (await stat(record)).mtimeMs
      images.set(digest, {
        digest,
        config,
        bytes,
        directory: join(folder, "root"),
        usedMs,
        touchedMs: usedMs,
      })
    } catch (error) {
      log.warn(
        { err: error, image: name },
        "unpacked image is unreadable; removed, and pulled again when needed",
      )
      await discard(folder)
    }
  }

  for (const name of await readdir(temporaryAt))
    await rm(join(temporaryAt, name), { recursive: true, force: true })
  for (const name of await readdir(unpackedAt)) await load(name)

  const temporary: ImageStore["temporary"] = async use => {
    const folder = join(temporaryAt, randomUUID())
    await mkdir(folder, { mode: 0o700 })
    try {
      return await use(folder)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  return {
    temporary,

    find(digest) {
      const image = images.get(digest)
      if (!image) return undefined
      image.usedMs = clock.now()
      if (image.usedMs - image.touchedMs > TOUCH_EVERY_MS) {
        image.touchedMs = image.usedMs
        const at = new Date(image.usedMs)
        utimes(join(image.directory, "..", "image.json"), at, at).catch(() => undefined)
      }
      return image
    },

    add: (digest, fill) =>
      adding.share(digest, () =>
        temporary(async folder => {
          const made = join(folder, "made")
          await mkdir(join(made, "root"), { recursive: true })
          await chmod(join(made, "root"), 0o755)
          const { config, bytes } = await fill(made)
          await writeFile(join(made, "image.json"), JSON.stringify({ digest, config, bytes }))
          const final = join(unpackedAt, folderOf(digest))
          await rename(made, final)
          const usedMs = clock.now()
          const image = { digest, config, bytes, directory: join(final, "root"), usedMs, touchedMs: usedMs }
          images.set(digest, image)
          void settling.share(digest, () => settle(final, closing.signal))
          return image
        }),
      ),

    async collect(isKept) {
      let bytes = [...images.values()].reduce((sum, image) => sum + image.bytes, 0)
      for (const image of [...images.values()].sort((one, other) => one.usedMs - other.usedMs)) {
        if (bytes <= bytesMax) return
        if (isKept(image.digest) || clock.now() - image.usedMs < GRACE_MS) continue
        images.delete(image.digest)
        bytes -= image.bytes
        await discard(join(image.directory, ".."))
      }
    },

    async [Symbol.asyncDispose]() {
      closing.abort()
      await Promise.all(settling.all())
    },
  }
}
