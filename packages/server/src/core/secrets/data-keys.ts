import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"
import { fault } from "../../kernel/fault.ts"
import type { SecretsPort } from "../../ports/secrets/port.ts"
import type { tenantKeyStore } from "./tenant-key-store.ts"

/**
 * What a key is for. `data`: what tenants encrypt and decrypt themselves; `platform`: what the platform keeps for them.
 * Neither key tells anything about the other, so no text of one kind opens as the other.
 */
export type Purpose = "data" | "platform"

/** One version of a tenant's data key, unwrapped. */
export interface DataKey {
  readonly version: number
  readonly keys: Readonly<Record<Purpose, KeyObject>>
  /** Uses for encryption that this process has on record and has not made yet. */
  usesLeft: number
}

export interface DataKeys {
  /** A new random key for this version of the tenant's, wrapped. */
  make(tenantId: string, version: number): Promise<string>
  /** From memory where possible. Undefined when there is no such key (any more). */
  hold(tenantId: string, version: number): Promise<DataKey | undefined>
  /** Drops the tenant's keys from memory; without a tenant, everybody's. */
  forget(tenantId: string | undefined): void
  renewWraps(): Promise<void>
}

const KEY_BYTES = 32
const HELD_MAX = 20_000
const RENEWED_AT_ONCE = 100
const FIRST_ID = "00000000-0000-0000-0000-000000000000"
/** A Vault that is restarted or unsealed is back within seconds. */
const RETRY_AFTER_SECONDS = 2

/** HKDF-SHA256 of the data key, without salt, with `svc:data` or `svc:platform` as info. */
export const keysOf = (dataKey: Uint8Array): Readonly<Record<Purpose, KeyObject>> => {
  const derive = (purpose: Purpose) =>
    createSecretKey(Buffer.from(hkdfSync("sha256", dataKey, "", `svc:${purpose}`, KEY_BYTES)))
  return { data: derive("data"), platform: derive("platform") }
}

/** A wrapped key opens as this version of this tenant's, and as no other. */
const contextOf = (tenantId: string, version: number): string => `${tenantId}|${version}`

/** Whatever the engine says, its caller can only wait for the operator. */
const asked = <Result>(answer: Promise<Result>): Promise<Result> =>
  answer.catch(error => {
    throw fault(
      "service_unavailable",
      { reason: "the secrets engine does not respond" },
      { internal: error, headers: { "retry-after": String(RETRY_AFTER_SECONDS) } },
    )
  })

/** Makes and unwraps data keys, and remembers those in use, so that an engine that is away is missed by new keys alone. */
export const createDataKeys = (needs: {
  readonly store: ReturnType<typeof tenantKeyStore>
  readonly secrets: SecretsPort
}): DataKeys => {
  const { store, secrets } = needs
  const held = createBoundedCache<DataKey>(HELD_MAX)
  const loading = new Map<string, Promise<DataKey | undefined>>()
  /** Counts what was forgotten, so that a key read before is not kept after. */
  let forgotten = 0

  const load = async (tenantId: string, version: number): Promise<DataKey | undefined> => {
    const forgottenBefore = forgotten
    const row = await store.find(tenantId, version)
    if (!row || row.wrapped_key === null) return undefined
    const plain = await asked(secrets.unwrap(row.wrapped_key, contextOf(tenantId, version)))
    const key = { version, keys: keysOf(plain), usesLeft: 0 }
    plain.fill(0)
    if (forgottenBefore === forgotten) held.set(contextOf(tenantId, version), key)
    return key
  }

  const renew = async (row: { tenant_id: string; version: number; wrapped_key: string | null }) => {
    if (row.wrapped_key === null) return
    const context = contextOf(row.tenant_id, row.version)
    const plain = await secrets.unwrap(row.wrapped_key, context)
    await store.rewrap(row, await secrets.wrap(plain, context))
    plain.fill(0)
  }

  return {
    async make(tenantId, version) {
      const key = randomBytes(KEY_BYTES)
      const wrapped = await asked(secrets.wrap(key, contextOf(tenantId, version)))
      key.fill(0)
      return wrapped
    },

    async hold(tenantId, version) {
      const name = contextOf(tenantId, version)
      const known = held.get(name) ?? loading.get(name)
      if (known) return known
      // Callers that come at once share one call to the engine, and one count of uses.
      const started = load(tenantId, version).finally(() => {
        if (loading.get(name) === started) loading.delete(name)
      })
      loading.set(name, started)
      return started
    },

    forget(tenantId) {
      forgotten++
      loading.clear()
      if (tenantId === undefined) return held.clear()
      for (const name of held.keys()) if (name.startsWith(`${tenantId}|`)) held.delete(name)
    },

    async renewWraps() {
      const health = await secrets.health()
      if (!health.ok) return
      const failures: unknown[] = []
      for (let after = { tenant_id: FIRST_ID, version: 0 }; ; ) {
        const rows = await store.wrappedOtherwise(health.generation, after, RENEWED_AT_ONCE)
        for (const row of rows) await renew(row).catch(error => failures.push(error))
        after = rows.at(-1) ?? after
        if (rows.length < RENEWED_AT_ONCE) break
      }
      if (failures.length > 0) throw new AggregateError(failures.slice(0, 1), `${failures.length} keys`)
    },
  }
}
