/** The embedded default: files on this machine's disk, named by the SHA-256 of their bytes. */
import { randomUUID } from "node:crypto"
import { mkdir, opendir, rm, stat, statfs, unlink, writeFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { isOwner } from "../../../owner.ts"
import { guarded } from "../../guarded.ts"
import { startHashes } from "../../hashes.ts"
import type { BlobPort, ListedBlob } from "../../port.ts"
import { createDirectories } from "./directories.ts"
import { asPortError, codeOf, rejectAsPortError } from "./failures.ts"
import { createLayout, isAddress, isRest, isShard, type Layout } from "./layout.ts"
import { chunksOf, openForReading, readFile } from "./reading.ts"
import { createStage } from "./staging.ts"

export interface DiskOptions {
  /** The store's folder, made when it is absent. One process at a time may use it. */
  readonly path: string
}

/** Files that are removed at the same time. */
const REMOVED_AT_ONCE = 8

const ifThere = async <Result>(work: Promise<Result>): Promise<Result | undefined> => {
  try {
    return await work
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    throw asPortError(error)
  }
}

async function* namesIn(path: string): AsyncGenerator<string> {
  const directory = await ifThere(opendir(path))
  if (!directory) return
  for await (const { name } of directory) yield name
}

async function* listBlobs({ owners }: Layout): AsyncGenerator<ListedBlob> {
  for await (const owner of namesIn(owners)) {
    if (!isOwner(owner)) continue
    for await (const shard of namesIn(`${owners}/${owner}`)) {
      if (!isShard(shard)) continue
      for await (const rest of namesIn(`${owners}/${owner}/${shard}`)) {
        if (!isRest(rest)) continue
        const found = await ifThere(stat(`${owners}/${owner}/${shard}/${rest}`))
        // A file's change time is that of its renaming; the modification time is that of the last write before.
        if (found)
          yield { owner, address: shard + rest, bytes: found.size, publishedAt: Math.floor(found.ctimeMs) }
      }
    }
  }
}

const sweepStaged = async ({ staged }: Layout, before: number): Promise<number> => {
  let swept = 0
  for await (const name of namesIn(staged)) {
    const path = `${staged}/${name}`
    const found = await ifThere(stat(path))
    if (!found || found.mtimeMs >= before) continue
    if ((await ifThere(unlink(path).then(() => true))) === true) swept += 1
  }
  return swept
}

/** Reads from a disk that is failing end in EIO, which is an answer to this question. */
const verifyFile = async (path: string, address: string) => {
  const handle = await ifThere(openForReading(path))
  if (!handle) return "missing"
  await using file = handle
  const hashes = startHashes()
  try {
    for await (const chunk of chunksOf(file)) hashes.update(chunk)
  } catch (error) {
    if (codeOf(error) === "EIO") return "damaged"
    throw asPortError(error)
  }
  return hashes.digests().sha256.toString("hex") === address ? "intact" : "damaged"
}

const probe = async ({ staged }: Layout): Promise<{ freeBytes: number }> => {
  const path = `${staged}/${randomUUID()}`
  try {
    await writeFile(path, "writable?", { flag: "wx", mode: 0o600 })
  } finally {
    await rm(path, { force: true })
  }
  const { bavail, bsize } = await statfs(staged)
  return { freeBytes: bavail * bsize }
}

/** What was there before this process came is synced as well: nobody knows whether it ever was. */
const prepare = async (layout: Layout) => {
  const directories = createDirectories()
  for (const path of [layout.owners, layout.staged]) await mkdir(path, { recursive: true, mode: 0o700 })
  await directories.sync(layout.root)
  await directories.sync(dirname(layout.root))
  return directories
}

export const openDiskBlobs = async ({ path }: DiskOptions): Promise<BlobPort> => {
  const layout = createLayout(resolve(path))
  const directories = await prepare(layout).catch(rejectAsPortError)

  return guarded({
    capabilities: { durable: "fsync", shared: false, contentAddressed: true },
    isAddress,
    stage: createStage(layout, directories),
    read: (owner, address, range) => readFile(layout.blobOf(owner, address), range),
    async remove(owner, addresses) {
      const paths = addresses.map(address => layout.blobOf(owner, address))
      for (let at = 0; at < paths.length; at += REMOVED_AT_ONCE)
        await Promise.all(paths.slice(at, at + REMOVED_AT_ONCE).map(path => ifThere(unlink(path))))
    },
    verify: (owner, address) => verifyFile(layout.blobOf(owner, address), address),
    list: () => listBlobs(layout),
    sweep: before => sweepStaged(layout, before),
    async health() {
      try {
        return { ok: true, ...(await probe(layout)) }
      } catch (error) {
        return { ok: false, reason: asPortError(error).message }
      }
    },
    close: () => undefined,
  })
}
