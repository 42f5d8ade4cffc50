import type { KeyObject } from "node:crypto"
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { SecretsHealth, SecretsPort } from "../../ports/secrets/port.ts"
import { createDataKeys, type Purpose } from "./data-keys.ts"
import { createKeyUses } from "./key-uses.ts"
import { type Paging, type Ring, type TenantKeyRow, tenantKeyStore } from "./tenant-key-store.ts"

/** One key, with the number that what it sealed must carry. */
export interface VersionedKey {
  readonly version: number
  readonly key: KeyObject
}

export interface Rotation {
  readonly version: number
  readonly previous: number
  readonly minDecryption: number
  readonly rotatedAt: Date
}

/**
 * The data keys of tenants, each with versions, wrapped by the secrets engine and known unwrapped only to processes.
 * A tenant gets its first key when something is first sealed for it. The faults thrown are `service_unavailable` when a
 * key is needed that the secrets engine does not unwrap, and `organization_not_found` for a tenant that was erased.
 */
export interface TenantKeys {
  /** A key to encrypt with, once: the newest, or the version asked for. Undefined when that must not be used. */
  forSealing(tenantId: string, purpose: Purpose, version?: number): Promise<VersionedKey | undefined>
  /** Undefined when there is no such version, it was destroyed, or users' ciphertexts may not have it any more. */
  forOpening(tenantId: string, purpose: Purpose, version: number): Promise<KeyObject | undefined>
  ring(tenantId: string): Promise<Ring>
  /** All versions, the newest first. */
  list(db: Db, tenantId: string, page: Paging): Promise<{ rows: TenantKeyRow[]; total: number }>
  /** Makes a newer version, in the caller's transaction. */
  rotate(db: Db, tenantId: string): Promise<Rotation>
  /** Sets the least version that users' ciphertexts may have; undefined when there is no such version. */
  setMinDecryption(db: Db, tenantId: string, version: number): Promise<Ring | undefined>
  /** Destroys all keys of the tenant, for good, in the caller's transaction. */
  erase(db: Db, tenantId: string): Promise<void>
  /** Wraps again what the secrets engine wrapped under an older key of its own, or another engine before it. */
  renewWraps(): Promise<void>
  health(): Promise<SecretsHealth>
}

const CHANGED = "tenant_keys"
const ERASED = "tenant_keys_erased"
const RINGS_MAX = 20_000

interface Needs {
  /** A pool of its own: who seals may hold a connection of the common one, and would wait for a second for ever. */
  readonly database: Database
  readonly secrets: SecretsPort
  readonly changes: Changes
  readonly clock: Clock
  readonly log: Logger
}

export const createTenantKeys = ({ database, secrets, changes, clock, log }: Needs): TenantKeys => {
  const store = tenantKeyStore(database.db)
  const dataKeys = createDataKeys({ store, secrets })
  const rings = createPushedCache<Ring>({
    changes,
    topics: { [CHANGED]: "one", [ERASED]: "one" },
    read: store.ring,
    idOf: ring => ring.tenantId,
    entriesMax: RINGS_MAX,
  })
  changes.subscribe(ERASED, dataKeys.forget)

  const firsts = new Map<string, Promise<void>>()
  /** Of callers who come at once, in whatever process, one makes the key and all have the same. */
  const makeFirst = (tenantId: string): Promise<void> => {
    const make = async () => insert(database.db, tenantId, 1, await dataKeys.make(tenantId, 1))
    const making = firsts.get(tenantId) ?? make().finally(() => firsts.delete(tenantId))
    firsts.set(tenantId, making)
    return making
  }

  const insert = async (db: Db, tenant_id: string, version: number, wrapped_key: string) => {
    const created_at = new Date(clock.now())
    const row = { tenant_id, version, wrapped_key, state: "active", uses_reserved: 0, created_at }
    await tenantKeyStore(db).insert(row)
    await changes.invalidate(db, CHANGED, tenant_id)
  }

  const isOver = () => fault("organization_not_found")

  const ringWithKey = async (tenantId: string): Promise<Ring> => {
    const ring = await rings.find(tenantId)
    if (ring.erased) throw isOver()
    if (ring.current > 0) return ring
    await makeFirst(tenantId)
    return store.ring(tenantId)
  }

  /** All on the caller's connection. The wrapping is made before the lock is taken: it may be a call to elsewhere. */
  const rotate = async (db: Db, tenantId: string): Promise<Rotation> => {
    const rows = tenantKeyStore(db)
    const known = await rows.ring(tenantId)
    if (known.current === 0) await insert(db, tenantId, 1, await dataKeys.make(tenantId, 1))
    const current = known.current || 1
    const wrapped = await dataKeys.make(tenantId, current + 1)
    await rows.lock(tenantId)
    const { erased, minDecryption } = await rows.ring(tenantId)
    if (erased) throw isOver()
    // A concurrent rotation since this call began counts as this caller's rotation too.
    await insert(db, tenantId, current + 1, wrapped)
    const made = await rows.find(tenantId, current + 1)
    const rotatedAt = made?.created_at ?? new Date(clock.now())
    return { version: current + 1, previous: current, minDecryption, rotatedAt }
  }

  const uses = createKeyUses({
    store,
    log,
    async rotate(tenantId, version) {
      await database.transaction(async tx => {
        // Of several processes that see it used up, one rotates it.
        await tenantKeyStore(tx).lock(tenantId)
        if ((await tenantKeyStore(tx).ring(tenantId)).current === version) await rotate(tx, tenantId)
      })
    },
  })

  return {
    async forSealing(tenantId, purpose, version) {
      for (;;) {
        const ring = await ringWithKey(tenantId)
        if (version !== undefined && (version < ring.minDecryption || version > ring.current))
          return undefined
        const held = await dataKeys.hold(tenantId, version ?? ring.current)
        if (!held) throw isOver()
        if (held.usesLeft > 0) {
          held.usesLeft--
          return { version: held.version, key: held.keys[purpose] }
        }
        if (!(await uses.reserve(ring, held))) return undefined
      }
    },

    async forOpening(tenantId, purpose, version) {
      let ring = await rings.find(tenantId)
      // Another process may have rotated a moment ago.
      if (version > ring.current) ring = await store.ring(tenantId)
      const least = purpose === "data" ? ring.minDecryption : 1
      if (ring.erased || version < least || version > ring.current) return undefined
      return (await dataKeys.hold(tenantId, version))?.keys[purpose]
    },

    ring: store.ring,
    list: (db, tenantId, page) => tenantKeyStore(db).list(tenantId, page),
    rotate,

    async setMinDecryption(db, tenantId, version) {
      const rows = tenantKeyStore(db)
      await rows.lock(tenantId)
      const ring = await rows.ring(tenantId)
      if (version > ring.current) return undefined
      await rows.setMinDecryption(tenantId, version)
      await changes.invalidate(db, CHANGED, tenantId)
      return { ...ring, minDecryption: version }
    },

    async erase(db, tenantId) {
      await tenantKeyStore(db).destroy(tenantId, new Date(clock.now()))
      await changes.invalidate(db, ERASED, tenantId)
    },

    renewWraps: dataKeys.renewWraps,
    health: secrets.health,
  }
}
