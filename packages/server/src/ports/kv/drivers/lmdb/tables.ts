/**
 * The tables of the store, all in one LMDB environment, and the bytes of their rows.
 *
 * | table | key | row |
 * |---|---|---|
 * | entries | owner (16), key (UTF-8) | version (double), expiry (double), value (UTF-8) |
 * | expiries | expiry (double), owner (16), key (UTF-8) | one byte that means nothing |
 * | owners | owner (16) | keys, bytes, last version (doubles) |
 *
 * Doubles are big-endian: positive ones sort by their bytes. An entry that never expires does so at infinity,
 * so that one comparison decides for all.
 */
import { type Database, open, type RootDatabase } from "lmdb"
import { LRUCache } from "lru-cache"

const OWNER_BYTES = 16
const DOUBLE_BYTES = 8
const HEAD_BYTES = 2 * DOUBLE_BYTES

export interface Head {
  readonly version: number
  readonly expiresAt: number
  readonly valueBytes: number
}

export interface Row {
  readonly value: string
  readonly version: number
  readonly expiresAt: number
}

export interface OwnerRow {
  readonly keys: number
  readonly bytes: number
  readonly version: number
}

export interface Tables {
  readonly root: RootDatabase<never, Buffer>
  readonly entries: Database<Row, Buffer>
  /**
   * The same rows as `entries`, without their values: telling an entry's age must not cost reading a
   * megabyte.
   */
  readonly heads: Database<Head, Buffer>
  readonly expiries: Database<Buffer, Buffer>
  readonly owners: Database<OwnerRow, Buffer>
}

const doubles = (...numbers: number[]): Buffer => {
  const bytes = Buffer.allocUnsafe(numbers.length * DOUBLE_BYTES)
  numbers.forEach((number, index) => void bytes.writeDoubleBE(number, index * DOUBLE_BYTES))
  return bytes
}

// NOTE: lmdb hands a decoder a buffer that it uses again for the next read, and whose real end is its
// `length`.
const rowCodec = {
  encode({ version, expiresAt, value }: Row): Buffer {
    const row = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(value))
    row.writeDoubleBE(version, 0)
    row.writeDoubleBE(expiresAt, DOUBLE_BYTES)
    row.write(value, HEAD_BYTES)
    return row
  },
  decode: (row: Buffer): Row => ({
    value: row.toString("utf8", HEAD_BYTES, row.length),
    version: row.readDoubleBE(0),
    expiresAt: row.readDoubleBE(DOUBLE_BYTES),
  }),
}

const headCodec = {
  encode: (): never => {
    throw new Error("heads are written with their entries")
  },
  decode: (row: Buffer): Head => ({
    version: row.readDoubleBE(0),
    expiresAt: row.readDoubleBE(DOUBLE_BYTES),
    valueBytes: row.length - HEAD_BYTES,
  }),
}

const ownerCodec = {
  encode: ({ keys, bytes, version }: OwnerRow): Buffer => doubles(keys, bytes, version),
  decode: (row: Buffer): OwnerRow => ({
    keys: row.readDoubleBE(0),
    bytes: row.readDoubleBE(DOUBLE_BYTES),
    version: row.readDoubleBE(2 * DOUBLE_BYTES),
  }),
}

export const openTables = (path: string, mapSizeBytes: number): Tables => {
  const root = open<never, Buffer>({
    path,
    // A dot in the folder's name would make lmdb take it for a file.
    noSubdir: false,
    mapSize: mapSizeBytes,
    keyEncoding: "binary",
    // A commit is then an fsync before anyone hears of it, instead of a sync that overlaps with the commits
    // after it.
    overlappingSync: false,
    // NOTE: with it lmdb makes a promise of its own for each commit, and a full disk would reject it with
    // nobody there to catch it. The test: "a full disk makes writes unavailable".
    eventTurnBatching: false,
  })
  const table = <V>(name: string, encoder: object): Database<V, Buffer> => {
    const options = { name, keyEncoding: "binary" as const, encoder }
    return root.openDB<V, Buffer>(options)
  }
  return {
    root,
    entries: table("entries", rowCodec),
    heads: table("entries", headCodec),
    expiries: root.openDB<Buffer, Buffer>({ name: "expiries", keyEncoding: "binary", encoding: "binary" }),
    owners: table("owners", ownerCodec),
  }
}

/** Most calls are of few owners, and the bytes of a UUID cost more than the read they are for. */
const OWNER_KEYS_MAX = 10_000
const ownerKeys = new LRUCache<string, Buffer>({ max: OWNER_KEYS_MAX })

export const ownerKey = (owner: string): Buffer => {
  const known = ownerKeys.get(owner)
  if (known) return known
  const key = Buffer.from(owner.replaceAll("-", ""), "hex")
  ownerKeys.set(owner, key)
  return key
}

export const entryKey = (owner: Buffer, key: string | Buffer): Buffer =>
  Buffer.concat([owner, typeof key === "string" ? Buffer.from(key) : key])

/** The key as the owner calls it. */
export const keyOf = (entryKey: Buffer): string => entryKey.toString("utf8", OWNER_BYTES)
export const ownerOf = (entryKey: Buffer): Buffer => entryKey.subarray(0, OWNER_BYTES)
export const keyBytesOf = (entryKey: Buffer): number => entryKey.length - OWNER_BYTES

export const expiryKey = (expiresAt: number, entryKey: Buffer): Buffer =>
  Buffer.concat([doubles(expiresAt), entryKey])
export const entryKeyOf = (expiryKey: Buffer): Buffer => expiryKey.subarray(DOUBLE_BYTES)
