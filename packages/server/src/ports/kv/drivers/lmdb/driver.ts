/** The embedded default: LMDB, in this process, on this machine's disk. */
import { mkdir } from "node:fs/promises"
import { ABORT } from "lmdb"
import { checkOwner } from "../../../owner.ts"
import { PortError } from "../../../port-error.ts"
import { checkKey, checkKeys, checkOps, checkWrite, STEP_MAX } from "../../bounds.ts"
import { startListing } from "../../listing.ts"
import type { KvOpResult, KvPort } from "../../port.ts"
import { entryKey, keyOf, openTables, ownerKey, type Tables } from "./tables.ts"
import {
  deleteEntry,
  eraseStep,
  findEntry,
  hasExpired,
  isLive,
  runOp,
  setEntry,
  sweepStep,
} from "./writes.ts"

export interface LmdbOptions {
  /**
   * The store's folder, made when it is absent. Processes of one machine may open it together; not over NFS.
   */
  readonly path: string
  /** Address space to begin with; it costs no memory and no disk, and grows when the store does. */
  readonly mapSizeBytes?: number
}

const GIB = 1024 ** 3
const DETAIL = "a resolved write is on this machine's disk"

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Runs acts in write transactions of their own: all of an act or, when it throws or returns `ABORT`, nothing.
 * Acts that wait at the same time share one commit, and one fsync. An act resolves once its commit is on the
 * disk.
 */
const createCommitter = ({ root }: Tables) => {
  let isOpen = true
  let lastFailure: string | undefined

  const assertOpen = (): void => {
    if (!isOpen) throw new PortError("unavailable", "the key-value store is closed")
  }

  return {
    assertOpen,
    lastFailure: () => (isOpen ? lastFailure : "the key-value store is closed"),
    async commit<T>(act: () => T): Promise<T> {
      assertOpen()
      try {
        const result = await root.childTransaction(act)
        lastFailure = undefined
        return result
      } catch (error) {
        // lmdb tells why a commit failed in a promise on its error, which nobody else would listen to.
        const { commitError } = error as { commitError?: Promise<never> }
        lastFailure = messageOf(commitError ? await commitError.catch(reason => reason) : error)
        throw new PortError("unavailable", `the key-value store took no write: ${lastFailure}`, error)
      }
    },
    /** Lets the acts under way finish. */
    async close(): Promise<void> {
      if (!isOpen) return
      isOpen = false
      await root.close()
    },
  }
}

const createReads = (
  tables: Tables,
  assertOpen: () => void,
): Pick<KvPort, "get" | "exists" | "list" | "usage"> => {
  const begin = (owner: string): Buffer => {
    assertOpen()
    checkOwner(owner)
    return ownerKey(owner)
  }
  return {
    get(owner, key, now) {
      const ownedBy = begin(owner)
      checkKey(key)
      return findEntry(tables, ownedBy, key, now)
    },
    exists(owner, keys, now) {
      const ownedBy = begin(owner)
      checkKeys(keys)
      return new Set(keys.filter(key => isLive(tables, ownedBy, key, now))).size
    },
    list(owner, query, now) {
      const ownedBy = begin(owner)
      const listing = startListing(query)
      const range = { start: entryKey(ownedBy, listing.from), end: entryKey(ownedBy, listing.below) }
      for (const { key, value: head } of tables.heads.getRange(range)) {
        if (!listing.take(keyOf(key), head.expiresAt > now)) break
      }
      return listing.page()
    },
    usage(owner) {
      const { keys, bytes } = tables.owners.get(begin(owner)) ?? { keys: 0, bytes: 0 }
      return { keys, bytes }
    },
  }
}

export const openLmdbKv = async ({ path, mapSizeBytes = GIB }: LmdbOptions): Promise<KvPort> => {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const tables = openTables(path, mapSizeBytes)
  const { commit, assertOpen, lastFailure, close } = createCommitter(tables)

  return {
    capabilities: { durable: "fsync", shared: false },
    ...createReads(tables, assertOpen),

    async set(owner, key, write, now) {
      checkOwner(owner)
      checkKey(key)
      checkWrite(write)
      return commit(() => setEntry(tables, ownerKey(owner), key, write, now))
    },

    async delete(owner, keys, now) {
      checkOwner(owner)
      checkKeys(keys)
      return commit(() =>
        keys.reduce((count, key) => count + deleteEntry(tables, ownerKey(owner), key, now), 0),
      )
    },

    async batch(owner, ops, now) {
      checkOwner(owner)
      checkOps(ops)
      let failedIndex = -1
      const results: KvOpResult[] = []
      await commit(() => {
        for (const op of ops) {
          const result = runOp(tables, ownerKey(owner), op, now)
          if (result.op === "set" && !result.written.stored) {
            failedIndex = results.length
            return ABORT
          }
          results.push(result)
        }
      })
      return failedIndex < 0
        ? { committed: true, failedIndex: null, results }
        : { committed: false, failedIndex, results: [] }
    },

    async erase(owner) {
      checkOwner(owner)
      let erased = 0
      let step: number
      do {
        step = await commit(() => eraseStep(tables, ownerKey(owner)))
        erased += step
      } while (step > 0)
      return erased
    },

    async sweep(now, limit) {
      assertOpen()
      let swept = 0
      while (swept < limit && hasExpired(tables, now)) {
        swept += await commit(() => sweepStep(tables, now, Math.min(STEP_MAX, limit - swept)))
      }
      return swept
    },

    async health() {
      const reason = lastFailure()
      return reason === undefined ? { ok: true, detail: DETAIL } : { ok: false, reason }
    },

    [Symbol.asyncDispose]: close,
  }
}
