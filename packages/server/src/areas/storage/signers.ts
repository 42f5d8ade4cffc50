import type { Keyring } from "../../core/keys/keyring.ts"
import type { Principal } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isFault } from "../../kernel/fault.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import { holds } from "../../kernel/scopes.ts"

const CACHED_MAX = 10_000
export const mayWrite = (principal: Principal): boolean =>
  !principal.readOnly && holds(principal, "storage:write")

export interface Signers {
  /** Whether the key that made a URL could still do itself what the URL allows. */
  allow(keyId: string, method: "GET" | "PUT", nowMs: number): Promise<boolean>
}

/** Keys by id. One that was revoked, or lost a scope, is heard of at once. */
export const createSigners = (needs: {
  readonly keys: Pick<Keyring, "byId">
  readonly changes: Changes
  readonly clock: Clock
}): Signers => {
  const known = createPushedCache<{ readonly id: string; readonly principal: Principal | undefined }>({
    changes: needs.changes,
    topics: { key: "one", organization: "all", project: "all" },
    async read(id) {
      try {
        return { id, principal: await needs.keys.byId(id, needs.clock.now()) }
      } catch (error) {
        if (isFault(error)) return { id, principal: undefined }
        throw error
      }
    },
    idOf: ({ id }) => id,
    entriesMax: CACHED_MAX,
  })

  return {
    async allow(keyId, method, nowMs) {
      const { principal } = await known.find(keyId)
      if (!principal || (principal.key?.expiresAt && principal.key.expiresAt.getTime() <= nowMs)) return false
      return method === "PUT" ? mayWrite(principal) : holds(principal, "storage:read")
    },
  }
}
