import type { SecretBox } from "../../../core/secrets/secret-box.ts"
import type { Db } from "../../../kernel/db/database.ts"
import type { Signer } from "../delivery.ts"
import { readDomain } from "./names.ts"
import { domainStore } from "./store.ts"

/** What a domain's private key is sealed under. */
export const dkimContext = (domainId: string): string => `email.dkim:${domainId}`

/** Not from memory, so that what was taken away a moment ago signs nothing any more. */
export const createSigners =
  ({ db, box }: { readonly db: Db; readonly box: SecretBox }) =>
  async (organizationId: string, fromDomain: string, on: Db = db): Promise<Signer | undefined> => {
    const domain = readDomain(fromDomain)
    if (domain === undefined) return undefined
    const row = await domainStore(on).findVerified(organizationId, domain)
    if (!row) return undefined
    return {
      domain,
      selector: row.dkim_selector,
      privateKey: await box.open(organizationId, dkimContext(row.id), row.dkim_private_key),
      returnPathDomain: `${row.return_path}.${domain}`,
    }
  }
