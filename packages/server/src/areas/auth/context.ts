/** What the handlers of this area share. */
import { createMailedTokens, type MailedTokens } from "../../core/credentials/mailed-tokens.ts"
import { createRecoveryCodes, type RecoveryCodes } from "../../core/credentials/recovery-codes.ts"
import { createNumberedTokens, type NumberedTokens } from "../../core/secrets/numbered-tokens.ts"
import type { ProjectTenant } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { createKeys, type SigningKeys } from "./keys.ts"
import type { Needs } from "./needs.ts"
import { type AuthSettingsOf, createSettings } from "./settings.ts"
import { USER_TOPIC } from "./tokens.ts"

/** No other token of the platform begins so. */
export const REFRESH_PREFIX = "svc_urt_"
const MAIL_PREFIX = "svc_umt_"
export const WAITING_PREFIX = "svc_uml_"

export interface Context extends Needs {
  readonly db: Db
  readonly baseUrl: string
  readonly keys: SigningKeys
  readonly projectSettings: AuthSettingsOf
  readonly refreshTokens: NumberedTokens
  readonly mailedTokens: MailedTokens
  readonly recoveryCodes: RecoveryCodes
  /** Tells the caches that sessions of the user began or ended. */
  userChanged(tx: Db, userId: string): Promise<void>
}

/** Who calls, as far as a sign-in needs to know. */
export interface Caller {
  readonly tenant: ProjectTenant
  readonly ip: string
  readonly userAgent: string | null
  readonly now: Date
}

export const createContext = (needs: Needs): Context => {
  const { database, changes, box, deriveSecret, installation } = needs
  const { db } = database
  return {
    ...needs,
    db,
    baseUrl: installation.baseUrl,
    keys: createKeys({ database, changes, box }),
    projectSettings: createSettings({ db, changes, mode: installation.mode }),
    refreshTokens: createNumberedTokens(REFRESH_PREFIX, deriveSecret("svc:refresh-tokens", "auth")),
    mailedTokens: createMailedTokens(MAIL_PREFIX, deriveSecret("svc:mailed-codes", "auth")),
    recoveryCodes: createRecoveryCodes(deriveSecret("svc:recovery-codes", "auth")),
    userChanged: (tx, userId) => changes.invalidate(tx, USER_TOPIC, userId),
  }
}
