/** Valkey or Redis over the network: one store for many machines, as durable as its operator made it. */
import { checkOwner } from "../../../owner.ts"
import { checkKey, checkKeys, checkOps, checkWrite, STEP_MAX } from "../../bounds.ts"
import { startListing } from "../../listing.ts"
import type { KvPort } from "../../port.ts"
import {
  applyArgs,
  applyScript,
  isLiveAt,
  ownerKeys,
  parseApplied,
  parseEntry,
  parseRow,
  type StoredOp,
} from "./apply.ts"
import { type Connection, connect, type Reply } from "./connection.ts"

export interface RedisOptions {
  /** `redis://`, `rediss://` or `unix:///path/to/socket`. */
  readonly url: string
  /** How long a call may take before it is `unavailable`. */
  readonly timeoutMs?: number
}

/**
 * Owners with entries that expire, each with the time a sweep has something to do there; later than that is
 * no harm.
 */
const EXPIRING = "svc:kv:expiring"
/** The server drops an expired entry by itself this much later, so that until then `now` alone decides. */
const LINGER_MS = 10_000
/** Owners that one round of a sweep visits. */
const SWEPT_OWNERS_MAX = 100

const strings = (reply: Reply): string[] => reply as string[]

const createApply =
  (connection: Connection) => async (owner: string, ops: readonly StoredOp[], now: number) => {
    const { heads, keys, expiries, owner: counters, entry } = ownerKeys(owner)
    const named = [heads, keys, expiries, counters, ...ops.map(({ key }) => entry(key))]
    const reply = await connection.run(applyScript, named, [
      String(now),
      String(LINGER_MS),
      ...applyArgs(ops),
    ])
    const applied = parseApplied(reply, ops, now)
    const dueAt = Math.min(
      ...ops.map(op => (op.op === "set" && op.write.expiresAt) || Number.POSITIVE_INFINITY),
    )
    // After the write: a sweep that comes in between takes the owner off this list, and then looks.
    if (Number.isFinite(dueAt)) await connection.send(["ZADD", EXPIRING, "LT", String(dueAt), owner])
    return applied
  }

type Apply = ReturnType<typeof createApply>

const createReads = ({ send }: Connection): Pick<KvPort, "get" | "exists" | "list" | "usage"> => ({
  async get(owner, key, now) {
    checkOwner(owner)
    checkKey(key)
    return parseEntry(await send(["GET", ownerKeys(owner).entry(key)]), now)
  },

  async exists(owner, keys, now) {
    checkOwner(owner)
    checkKeys(keys)
    if (keys.length === 0) return 0
    const found = await send(["HMGET", ownerKeys(owner).heads, ...new Set(keys)])
    return (found as (string | null)[]).filter(
      head => head !== null && isLiveAt(parseRow(head).expiresAt, now),
    ).length
  },

  async list(owner, query, now) {
    checkOwner(owner)
    const listing = startListing(query)
    const { keys, heads } = ownerKeys(owner)
    let from = Buffer.concat([Buffer.from("["), listing.from])
    const below = Buffer.concat([Buffer.from("("), listing.below])
    for (;;) {
      const found = strings(await send(["ZRANGEBYLEX", keys, from, below, "LIMIT", "0", String(STEP_MAX)]))
      if (found.length === 0) return listing.page()
      const states = (await send(["HMGET", heads, ...found])) as (string | null)[]
      for (const [index, key] of found.entries()) {
        const head = states[index]
        if (!listing.take(key, typeof head === "string" && isLiveAt(parseRow(head).expiresAt, now))) {
          return listing.page()
        }
      }
      if (found.length < STEP_MAX) return listing.page()
      from = Buffer.concat([Buffer.from("("), Buffer.from(found.at(-1) ?? "")])
    }
  },

  async usage(owner) {
    checkOwner(owner)
    const [keys, bytes] = strings(await send(["HMGET", ownerKeys(owner).owner, "keys", "bytes"]))
    return { keys: Number(keys ?? 0), bytes: Number(bytes ?? 0) }
  },
})

const createWrites = (apply: Apply): Pick<KvPort, "set" | "delete" | "batch"> => ({
  async set(owner, key, write, now) {
    checkOwner(owner)
    checkKey(key)
    checkWrite(write)
    const applied = await apply(owner, [{ op: "set", key, write }], now)
    if (applied.failedIndex !== null) return { stored: false, ...applied.state }
    const [result] = applied.results
    if (result?.op !== "set") throw new Error("a set is answered by a set")
    return result.written
  },

  async delete(owner, keys, now) {
    checkOwner(owner)
    checkKeys(keys)
    const ops = keys.map(key => ({ op: "delete" as const, key }))
    const applied = await apply(owner, ops, now)
    if (applied.failedIndex !== null) throw new Error("a delete has no condition")
    return applied.results.reduce((count, result) => count + (result.op === "delete" ? result.deleted : 0), 0)
  },

  async batch(owner, ops, now) {
    checkOwner(owner)
    checkOps(ops)
    const applied = await apply(owner, ops, now)
    if (applied.failedIndex !== null)
      return { committed: false, failedIndex: applied.failedIndex, results: [] }
    return { committed: true, failedIndex: null, results: applied.results }
  },
})

const createUpkeep = ({ send }: Connection, apply: Apply): Pick<KvPort, "erase" | "sweep"> => {
  /**
   * Reclaims up to `limit` expired entries of one owner, and puts the owner back on the list for the next one
   * due.
   */
  const sweepOwner = async (owner: string, now: number, limit: number): Promise<number> => {
    const { expiries } = ownerKeys(owner)
    const range = [String(now), "LIMIT", "0", String(Math.min(limit, STEP_MAX))]
    const expired = strings(await send(["ZRANGEBYSCORE", expiries, "-inf", ...range]))
    if (expired.length > 0) {
      await apply(
        owner,
        expired.map(key => ({ op: "reclaim", key })),
        now,
      )
    }
    const [, dueAt] = strings(await send(["ZRANGE", expiries, "0", "0", "WITHSCORES"]))
    if (dueAt !== undefined) await send(["ZADD", EXPIRING, "LT", dueAt, owner])
    return expired.length
  }

  return {
    async erase(owner) {
      checkOwner(owner)
      let erased = 0
      for (;;) {
        const step = strings(await send(["ZRANGE", ownerKeys(owner).keys, "0", String(STEP_MAX - 1)]))
        if (step.length === 0) break
        await apply(
          owner,
          step.map(key => ({ op: "delete", key })),
          0,
        )
        erased += step.length
      }
      await apply(owner, [{ op: "forget", key: "" }], 0)
      return erased
    },

    async sweep(now, limit) {
      let swept = 0
      while (swept < limit) {
        const range = [String(now), "LIMIT", "0", String(SWEPT_OWNERS_MAX)]
        const owners = strings(await send(["ZRANGEBYSCORE", EXPIRING, "-inf", ...range]))
        if (owners.length === 0) break
        for (const owner of owners) {
          if (swept >= limit) break
          await send(["ZREM", EXPIRING, owner])
          swept += await sweepOwner(owner, now, limit - swept)
        }
      }
      return swept
    },
  }
}

/** What the server says about its own durability; a hosted one may not want to. */
const describeDurability = async ({ send }: Connection): Promise<string> => {
  const settings = ["appendonly", "appendfsync", "save", "maxmemory-policy"]
  try {
    const values = await Promise.all(settings.map(setting => send(["CONFIG", "GET", setting])))
    return values.map(reply => strings(reply).join(" ")).join(", ")
  } catch {
    return "the server does not tell how durable it is"
  }
}

export const openRedisKv = async ({ url, timeoutMs = 2_000 }: RedisOptions): Promise<KvPort> => {
  const connection = await connect(url, timeoutMs)
  const apply = createApply(connection)
  return {
    capabilities: { durable: "server", shared: true },
    ...createReads(connection),
    ...createWrites(apply),
    ...createUpkeep(connection, apply),
    async health() {
      try {
        // A read, where a ping would do well even on a node of a cluster that is down.
        await connection.send(["EXISTS", EXPIRING])
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : String(error) }
      }
      return { ok: true, detail: await describeDurability(connection) }
    },
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  }
}
