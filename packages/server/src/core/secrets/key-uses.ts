import type { Logger } from "../../kernel/log.ts"
import type { DataKey } from "./data-keys.ts"
import type { Ring, tenantKeyStore } from "./tenant-key-store.ts"

/**
 * Uses that a process takes on record at a time. Those of a process that ends are lost, which costs nothing: GCM with
 * random nonces is safe for 2^32 uses of a key (NIST SP 800-38D, 8.3), and it is rotated after a quarter of them.
 */
const USES_RESERVED = 2 ** 16
const USES_BEFORE_ROTATION = 2 ** 30
const USES_MAX = 2 ** 32

interface Needs {
  readonly store: ReturnType<typeof tenantKeyStore>
  /** Makes a newer version, unless there is one. */
  readonly rotate: (tenantId: string, version: number) => Promise<void>
  readonly log: Logger
}

/** Counts how often keys encrypt, in blocks, and rotates those that did so often. */
export const createKeyUses = ({ store, rotate, log }: Needs) => {
  const running = new WeakMap<DataKey, Promise<boolean>>()

  const reserve = async ({ tenantId, current }: Ring, key: DataKey): Promise<boolean> => {
    const total = await store.reserve(tenantId, key.version, USES_RESERVED, USES_MAX)
    if (total === undefined) return false
    key.usesLeft += USES_RESERVED
    if (total < USES_BEFORE_ROTATION || key.version !== current) return true
    try {
      await rotate(tenantId, key.version)
    } catch (error) {
      log.error(
        { err: error, tenant_id: tenantId },
        "rotating a tenant's data key failed; the present key stays in use",
      )
    }
    return true
  }

  return {
    /** Takes more uses on record, once for all who wait. False when the key has been used as often as it may. */
    reserve(ring: Ring, key: DataKey): Promise<boolean> {
      const reserving = running.get(key) ?? reserve(ring, key).finally(() => running.delete(key))
      running.set(key, reserving)
      return reserving
    },
  }
}
