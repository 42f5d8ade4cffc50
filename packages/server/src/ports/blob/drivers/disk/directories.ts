import { constants } from "node:fs"
import { mkdir, open } from "node:fs/promises"
import { dirname } from "node:path"
import { LRUCache } from "lru-cache"
import { codeOf } from "./failures.ts"

/** Directories that need no looking after, because they were made and synced; beyond this many the oldest is looked after again. */
const KNOWN_MAX = 10_000

export interface Directories {
  /** Makes a directory of a level or two below one that is there, durably. */
  ensure(path: string, parent: string): Promise<void>
  /** It turned out not to be there any more. */
  forget(path: string): void
  /** Resolves when the entries that the directory has now are on disk. */
  sync(path: string): Promise<void>
}

const syncNow = async (path: string): Promise<void> => {
  await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await directory.sync()
}

/** All who wait while one sync of a directory runs share the next one. */
const createSync = () => {
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<void>>()

  const start = (path: string): Promise<void> => {
    next.delete(path)
    const run = syncNow(path).finally(() => {
      if (running.get(path) === run) running.delete(path)
    })
    running.set(path, run)
    return run
  }

  return (path: string): Promise<void> => {
    const before = running.get(path)
    if (!before) return start(path)
    const waiting =
      next.get(path) ??
      before.then(
        () => start(path),
        () => start(path),
      )
    next.set(path, waiting)
    return waiting
  }
}

const makeDirectory = (path: string): Promise<void> =>
  mkdir(path, { mode: 0o700 }).catch(error => {
    if (codeOf(error) !== "EEXIST") throw error
  })

export const createDirectories = (): Directories => {
  // With `max` the library would reserve memory for all of them at once.
  const known = new LRUCache<string, Promise<void>>({ maxSize: KNOWN_MAX, sizeCalculation: () => 1 })
  const sync = createSync()

  /** Synced even when it was there: who made it may have died before he came to that. */
  const make = async (path: string, root: string): Promise<void> => {
    const parent = dirname(path)
    if (parent !== root) await ensure(parent, root)
    await makeDirectory(path)
    await sync(parent)
  }

  const ensure = (path: string, root: string): Promise<void> => {
    const made = known.get(path)
    if (made) return made
    const making = make(path, root).catch(error => {
      known.delete(path)
      throw error
    })
    known.set(path, making)
    return making
  }

  return {
    ensure,
    forget(path) {
      known.delete(path)
      known.delete(dirname(path))
    },
    sync,
  }
}
