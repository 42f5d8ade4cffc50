/**
 * The one script that changes data: it runs a list of operations on one owner's keys, whole or not at all. A
 * single set is a list of one; a sweep and an erase are lists too.
 *
 * What an owner has, all under the hash tag `{owner}`, so that a cluster keeps it in one place:
 *
 * | key | type | holds |
 * |---|---|---|
 * | svc:kv:{owner}:entry:<key> | string | "version expiry value"; dropped by the server after its expiry |
 * | svc:kv:{owner}:heads | hash | key → "version expiry bytes" |
 * | svc:kv:{owner}:keys | sorted set | keys, all with score 0, hence in byte order |
 * | svc:kv:{owner}:expiries | sorted set | key → expiry, of those that have one |
 * | svc:kv:{owner}:owner | hash | keys, bytes, version (the last one given) |
 *
 * An expiry of 0 means never.
 */
import type { KvEntry, KvOp, KvOpResult, KvWrite } from "../../port.ts"
import { defineScript, type Reply } from "./connection.ts"

export const ownerKeys = (owner: string) => {
  const root = `svc:kv:{${owner}}:`
  return {
    entry: (key: string) => `${root}entry:${key}`,
    heads: `${root}heads`,
    keys: `${root}keys`,
    expiries: `${root}expiries`,
    owner: `${root}owner`,
  }
}

/**
 * Beside the port's operations: `reclaim` removes an entry that has expired, `forget` an owner that has none
 * left.
 */
export type StoredOp = KvOp | { readonly op: "reclaim" | "forget"; readonly key: string }

export const applyScript = defineScript(`
local heads, keys, expiries, owner = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now, linger = tonumber(ARGV[1]), tonumber(ARGV[2])
local lastVersion = tonumber(redis.call('HGET', owner, 'version') or '0')
local version = lastVersion
local was, is, slots, results = {}, {}, {}, {}

-- Lua would write a large number as 1e+15.
local function whole(number) return string.format('%.0f', number) end

local function find(key, slot)
  if was[key] == nil then
    local head = redis.call('HGET', heads, key)
    local entry = false
    if head then
      local v, e, b = string.match(head, '^(%d+) (%d+) (%d+)$')
      entry = { version = tonumber(v), expiry = tonumber(e), bytes = tonumber(b) }
    end
    was[key], is[key], slots[key] = entry, entry, slot
  end
  return is[key]
end

local function live(entry) return entry and (entry.expiry == 0 or entry.expiry > now) end

local function holds(entry, absent, present, ifVersion)
  if absent == '1' and entry then return false end
  if present == '1' and not entry then return false end
  return ifVersion == '' or (entry and entry.version == tonumber(ifVersion))
end

for i = 0, (#ARGV - 2) / 8 - 1 do
  local op, key, value, expiry, keepTtl, absent, present, ifVersion = unpack(ARGV, 3 + i * 8, 10 + i * 8)
  local slot = KEYS[5 + i]
  local found = find(key, slot)
  local entry = live(found) and found or nil
  if op == 'get' then
    results[i + 1] = entry and (entry.row or redis.call('GET', slot)) or ''
  elseif op == 'delete' then
    is[key] = false
    results[i + 1] = entry and 1 or 0
  elseif op == 'reclaim' then
    -- Always off this list, or a sweep would find it there for ever.
    if not entry then
      is[key] = false
      redis.call('ZREM', expiries, key)
    end
    results[i + 1] = 0
  elseif op == 'set' then
    if not holds(entry, absent, present, ifVersion) then
      return { i, entry and { whole(entry.version), whole(entry.expiry) } or {} }
    end
    version = version + 1
    if keepTtl == '1' and entry then expiry = whole(entry.expiry) end
    is[key] = {
      version = version, expiry = tonumber(expiry), bytes = #key + #value,
      row = whole(version) .. ' ' .. expiry .. ' ' .. value
    }
    results[i + 1] = { whole(version), expiry }
  else
    results[i + 1] = 0
  end
end

local keyCount, byteCount = 0, 0
for key, before in pairs(was) do
  local after, slot = is[key], slots[key]
  if before ~= after then
    if before then
      keyCount, byteCount = keyCount - 1, byteCount - before.bytes
      if before.expiry ~= 0 then redis.call('ZREM', expiries, key) end
    end
    if after then
      keyCount, byteCount = keyCount + 1, byteCount + after.bytes
      redis.call('HSET', heads, key, whole(after.version) .. ' ' .. whole(after.expiry) .. ' ' .. after.bytes)
      if not before then redis.call('ZADD', keys, 0, key) end
      if after.expiry == 0 then
        redis.call('SET', slot, after.row)
      else
        redis.call('ZADD', expiries, whole(after.expiry), key)
        redis.call('SET', slot, after.row, 'PX', whole(math.max(1, after.expiry - now + linger)))
      end
    else
      redis.call('DEL', slot)
      redis.call('HDEL', heads, key)
      redis.call('ZREM', keys, key)
    end
  end
end
if version > lastVersion then redis.call('HSET', owner, 'version', whole(version)) end
if keyCount ~= 0 then redis.call('HINCRBY', owner, 'keys', keyCount) end
if byteCount ~= 0 then redis.call('HINCRBY', owner, 'bytes', byteCount) end
if ARGV[3] == 'forget' and redis.call('HLEN', heads) == 0 then redis.call('DEL', owner) end
return { -1, results }
`)

const flag = (isSet: boolean | undefined): string => (isSet ? "1" : "")

const writeArgs = ({ value, expiresAt, keepTtl, onlyIf = {} }: KvWrite): string[] => [
  value,
  String(expiresAt ?? 0),
  flag(keepTtl),
  flag(onlyIf.absent),
  flag(onlyIf.present),
  String(onlyIf.version ?? ""),
]

const NO_WRITE = ["", "0", "", "", "", ""]

export const applyArgs = (ops: readonly StoredOp[]): string[] =>
  ops.flatMap(op => [op.op, op.key, ...(op.op === "set" ? writeArgs(op.write) : NO_WRITE)])

/** "version expiry rest", as rows and heads have it. */
export const parseRow = (row: string): { version: number; expiresAt: number | null; rest: string } => {
  const first = row.indexOf(" ")
  const second = row.indexOf(" ", first + 1)
  return {
    version: Number(row.slice(0, first)),
    expiresAt: Number(row.slice(first + 1, second)) || null,
    rest: row.slice(second + 1),
  }
}

export const isLiveAt = (expiresAt: number | null, now: number): boolean =>
  expiresAt === null || expiresAt > now

export const parseEntry = (row: Reply, now: number): KvEntry | undefined => {
  if (typeof row !== "string" || row === "") return undefined
  const { version, expiresAt, rest } = parseRow(row)
  return isLiveAt(expiresAt, now) ? { value: rest, version, expiresAt } : undefined
}

const parseState = (reply: Reply): { version: number | null; expiresAt: number | null } => {
  const [version, expiry] = reply as [string?, string?]
  return { version: version === undefined ? null : Number(version), expiresAt: Number(expiry ?? 0) || null }
}

export type Applied =
  | { readonly failedIndex: null; readonly results: KvOpResult[] }
  /** The state that stays, of the entry whose condition did not hold. */
  | { readonly failedIndex: number; readonly state: { version: number | null; expiresAt: number | null } }

export const parseApplied = (reply: Reply, ops: readonly StoredOp[], now: number): Applied => {
  const [failedIndex, body] = reply as [number, Reply[]]
  if (failedIndex >= 0) return { failedIndex, state: parseState(body) }
  const results = ops.map((op, index): KvOpResult => {
    const result = body[index] ?? null
    if (op.op === "set") return { op: "set", written: { stored: true, ...parseState(result) } }
    if (op.op === "get") return { op: "get", entry: parseEntry(result, now) }
    return { op: "delete", deleted: Number(result) }
  })
  return { failedIndex: null, results }
}
