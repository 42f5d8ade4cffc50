import type { Db } from "../../../kernel/db/database.ts"
import type { EmailDelivery, Recipient, Signer } from "../delivery.ts"
import type { Findings } from "../domains/progress.ts"
import type { SigningKeys } from "./signing-keys.ts"
import { returnPathLocal, signToken, type TokenKind } from "./tokens.ts"

export interface LinkNeeds {
  readonly db: Db
  readonly keys: SigningKeys
  readonly baseUrl: string
  /** Whether bounces are taken. */
  readonly takesBounces: boolean
}

const PATHS: Readonly<Record<TokenKind, string>> = {
  open: "/v1/email/open/",
  click: "/v1/email/click/",
  unsubscribe: "/v1/email/unsubscribe/",
}

/** The tracking name of the domain that a mail is from, once it is an alias of ours. */
const trackingHost = async (db: Db, recipient: Recipient): Promise<string | undefined> => {
  const row = await db
    .selectFrom("email.recipients as recipient")
    .innerJoin("email.messages as message", "message.id", "recipient.email_id")
    .innerJoin("email.domains as domain", join =>
      join
        .onRef("domain.organization_id", "=", "message.organization_id")
        .onRef("domain.domain", "=", "message.domain"),
    )
    .where("recipient.organization_id", "=", recipient.organizationId)
    .where("recipient.id", "=", recipient.recipientId)
    .where("domain.status", "=", "verified")
    .select(["domain.domain", "domain.tracking_subdomain", "domain.findings"])
    .executeTakeFirst()
  if ((row?.findings as Findings | undefined)?.TRACKING?.status !== "verified") return undefined
  return row && `${row.tracking_subdomain}.${row.domain}`
}

/** The links that mails get; each is signed with the organization's secret. */
export const createLinks = ({
  db,
  keys,
  baseUrl,
  takesBounces,
}: LinkNeeds): Pick<EmailDelivery, "track" | "unsubscribeHeaders" | "returnPath"> => {
  const baseFor = async (recipient: Recipient): Promise<string> => {
    const host = await trackingHost(db, recipient)
    if (host === undefined) return baseUrl
    const url = new URL(baseUrl)
    url.hostname = host
    return url.origin
  }

  return {
    async track(recipient, html, { opens, clicks }) {
      if (!opens && !clicks) return html
      const { addPicture, rewriteLinks } = await import("./rewrite.ts")
      const secret = await keys.current(recipient.organizationId)
      const base = await baseFor(recipient)
      const own = `${baseUrl}${PATHS.unsubscribe}`
      const followed = (url: string) =>
        url.startsWith(own) ? url : `${base}${PATHS.click}${signToken(secret, "click", recipient, url)}`
      const linked = clicks ? rewriteLinks(html, followed) : html
      if (!opens) return linked
      return addPicture(linked, `${base}${PATHS.open}${signToken(secret, "open", recipient)}`)
    },

    async unsubscribeHeaders(recipient) {
      const secret = await keys.current(recipient.organizationId)
      const url = `${baseUrl}${PATHS.unsubscribe}${signToken(secret, "unsubscribe", recipient)}`
      return {
        "List-Unsubscribe": `<${url}>`,
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      }
    },

    async returnPath({ organizationId, recipientId }: Recipient, signer: Signer) {
      if (!takesBounces) return undefined
      const secret = await keys.current(organizationId)
      return `${returnPathLocal(secret, recipientId)}@${signer.returnPathDomain}`
    },
  }
}
