/** The certificate that a connection is answered with, by the name that it is for. */
import { createSecureContext, type SecureContext } from "node:tls"
import type { SecretBox } from "../../../core/secrets/secret-box.ts"
import { createBoundedCache } from "../../../kernel/bounded-cache.ts"
import type { Db } from "../../../kernel/db/database.ts"
import type { Logger } from "../../../kernel/log.ts"
import { hostOf } from "../names.ts"
import type { Table } from "../table.ts"
import { certificateStore } from "./store.ts"

export interface Contexts {
  /** Undefined where the name has none of its own. */
  find(serverName: string): Promise<SecureContext | undefined>
}

const CACHED_MAX = 2_000

export const createContexts = (needs: {
  readonly db: Db
  readonly box: SecretBox
  readonly table: Pick<Table, "find">
  readonly log: Logger
}): Contexts => {
  const { db, box, table, log } = needs
  /** By the certificate's id: after a renewal it is another. */
  const known = createBoundedCache<Promise<SecureContext | undefined>>(CACHED_MAX)

  return {
    async find(serverName) {
      const row = table.find(hostOf(serverName))
      if (!row || row.certificate_id === null) return undefined
      const id = row.certificate_id
      const kept = known.get(id)
      if (kept) return kept
      const load = async () => {
        const stored = await certificateStore(db).find(box, row)
        return stored && createSecureContext({ cert: stored.chain, key: stored.privateKey })
      }
      const loading = load().catch(error => {
        known.delete(id)
        log.error({ err: error, domain: row.domain }, "reading the certificate of a domain failed")
        return undefined
      })
      known.set(id, loading)
      return loading
    },
  }
}
