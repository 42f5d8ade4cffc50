/** What a write does to the tables. Every function here runs inside one write transaction. */
import { STEP_MAX } from "../../bounds.ts"
import type { KvEntry, KvOp, KvOpResult, KvWrite, KvWritten } from "../../port.ts"
import {
  entryKey,
  entryKeyOf,
  expiryKey,
  type Head,
  keyBytesOf,
  type OwnerRow,
  ownerOf,
  type Tables,
} from "./tables.ts"

const NEW_OWNER: OwnerRow = { keys: 0, bytes: 0, version: 0 }
const MARK = Buffer.of(1)

/** Infinity inside, null outside. */
const outward = (expiresAt: number): number | null =>
  expiresAt === Number.POSITIVE_INFINITY ? null : expiresAt
const inward = (expiresAt: number | null): number => expiresAt ?? Number.POSITIVE_INFINITY

const findLiveHead = ({ heads }: Tables, at: Buffer, now: number): Head | undefined => {
  const head = heads.get(at)
  return head && head.expiresAt > now ? head : undefined
}

export const isLive = (tables: Tables, owner: Buffer, key: string, now: number): boolean =>
  findLiveHead(tables, entryKey(owner, key), now) !== undefined

export const findEntry = (
  { entries }: Tables,
  owner: Buffer,
  key: string,
  now: number,
): KvEntry | undefined => {
  const row = entries.get(entryKey(owner, key))
  if (!row || row.expiresAt <= now) return undefined
  return { value: row.value, version: row.version, expiresAt: outward(row.expiresAt) }
}

const holds = (
  { absent, present, version }: NonNullable<KvWrite["onlyIf"]>,
  live: Head | undefined,
): boolean => !(absent && live) && !(present && !live) && (version === undefined || version === live?.version)

/** Takes an entry out, live or expired, with all that is kept about it. */
const removeEntry = ({ entries, heads, expiries, owners }: Tables, at: Buffer): void => {
  const head = heads.get(at)
  if (!head) return
  void entries.remove(at)
  if (Number.isFinite(head.expiresAt)) void expiries.remove(expiryKey(head.expiresAt, at))
  const row = owners.get(ownerOf(at)) ?? NEW_OWNER
  const bytes = row.bytes - keyBytesOf(at) - head.valueBytes
  void owners.put(ownerOf(at), { ...row, keys: row.keys - 1, bytes })
}

export const setEntry = (
  tables: Tables,
  owner: Buffer,
  key: string,
  write: KvWrite,
  now: number,
): KvWritten => {
  const { entries, expiries, owners } = tables
  const at = entryKey(owner, key)
  const live = findLiveHead(tables, at, now)
  if (write.onlyIf && !holds(write.onlyIf, live)) {
    return { stored: false, version: live?.version ?? null, expiresAt: live ? outward(live.expiresAt) : null }
  }
  const expiresAt = write.keepTtl && live ? live.expiresAt : inward(write.expiresAt)
  removeEntry(tables, at)
  const row = owners.get(owner) ?? NEW_OWNER
  const version = row.version + 1
  const bytes = row.bytes + keyBytesOf(at) + Buffer.byteLength(write.value)
  void entries.put(at, { value: write.value, version, expiresAt })
  if (Number.isFinite(expiresAt)) void expiries.put(expiryKey(expiresAt, at), MARK)
  void owners.put(owner, { keys: row.keys + 1, bytes, version })
  return { stored: true, version, expiresAt: outward(expiresAt) }
}

/** How many entries that took from a reader: none when there was none, or an expired one. */
export const deleteEntry = (tables: Tables, owner: Buffer, key: string, now: number): number => {
  const at = entryKey(owner, key)
  const live = findLiveHead(tables, at, now)
  removeEntry(tables, at)
  return live ? 1 : 0
}

export const runOp = (tables: Tables, owner: Buffer, op: KvOp, now: number): KvOpResult => {
  if (op.op === "set") return { op: "set", written: setEntry(tables, owner, op.key, op.write, now) }
  if (op.op === "get") return { op: "get", entry: findEntry(tables, owner, op.key, now) }
  return { op: "delete", deleted: deleteEntry(tables, owner, op.key, now) }
}

/** One step of an erase; zero entries means that nothing of the owner is left. */
export const eraseStep = (tables: Tables, owner: Buffer): number => {
  const below = Buffer.concat([owner, Buffer.of(255)])
  const found = [...tables.entries.getKeys({ start: owner, end: below, limit: STEP_MAX })]
  for (const at of found) removeEntry(tables, at)
  if (found.length === 0) void tables.owners.remove(owner)
  return found.length
}

/** Behind the last row that could hold `now`: an entry that expires now is gone already. */
const expiredRange = (now: number) => ({ start: Buffer.of(0), end: expiryKey(now, Buffer.alloc(17, 255)) })

export const hasExpired = ({ expiries }: Tables, now: number): boolean =>
  expiries.getKeysCount({ ...expiredRange(now), limit: 1 }) > 0

/** One step of a sweep, oldest expiry first. */
export const sweepStep = (tables: Tables, now: number, limit: number): number => {
  const found = [...tables.expiries.getKeys({ ...expiredRange(now), limit })]
  for (const expiry of found) removeEntry(tables, entryKeyOf(expiry))
  return found.length
}
