import { generateKeyPair } from "node:crypto"
import { promisify } from "node:util"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import { fault } from "../../kernel/fault.ts"
import type { ApnsCredentials, FcmCredentials, VapidCredentials } from "../../ports/push/port.ts"

export type ProviderRow = Tables["notifications.providers"]

/** How an organization pushes, keys opened. */
export interface Credentials {
  readonly webpush: VapidCredentials
  readonly fcm: FcmCredentials | null
  readonly apns: ApnsCredentials | null
}

const contextOf = (provider: string): string => `notifications.provider:${provider}`

const generate = promisify(generateKeyPair)

/** A key pair for VAPID (RFC 8292): ECDSA over P-256. */
const newVapidKeys = async (): Promise<{ publicKey: string; privateKey: string }> => {
  const { publicKey, privateKey } = await generate("ec", { namedCurve: "P-256" })
  const { x = "", y = "" } = publicKey.export({ format: "jwk" })
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")])
  return {
    publicKey: point.toString("base64url"),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}

const find = (db: Db, organizationId: string): Promise<ProviderRow | undefined> =>
  db
    .selectFrom("notifications.providers")
    .where("organization_id", "=", organizationId)
    .selectAll()
    .executeTakeFirst()

/**
 * The push services of organizations. Each has its own VAPID keys, made when they are first needed: a subscription that
 * one organization's page asked for takes no message from another.
 */
export const createProviderSettings = ({
  box,
  baseUrl,
}: {
  readonly box: SecretBox
  readonly baseUrl: string
}) => {
  const row = async (db: Db, organizationId: string): Promise<ProviderRow> => {
    const known = await find(db, organizationId)
    if (known) return known
    const { publicKey, privateKey } = await newVapidKeys()
    await db
      .insertInto("notifications.providers")
      .values({
        organization_id: organizationId,
        vapid_public_key: publicKey,
        vapid_private_key: await box.seal(organizationId, contextOf("webpush"), privateKey),
        ...{ vapid_subject: null, fcm: null, apns: null },
      })
      // Of two that come at once, one makes it.
      .onConflict(conflict => conflict.column("organization_id").doNothing())
      .execute()
    const made = await find(db, organizationId)
    if (!made) throw new Error("the keys of an organization were not kept")
    return made
  }

  const opened = async <Value>(organizationId: string, provider: string, sealed: string | null) =>
    sealed === null
      ? null
      : (JSON.parse(await box.open(organizationId, contextOf(provider), sealed)) as Value)

  return {
    row,

    /** The same for a caller who may make nothing: refuses where the keys are still to be made. */
    async rowFor({ db, organization, readOnly }: Call): Promise<ProviderRow> {
      if (!readOnly) return row(db, organization.id)
      const known = await find(db, organization.id)
      if (!known) throw fault("key_read_only")
      return known
    },

    subjectOf: ({ vapid_subject }: ProviderRow): string =>
      vapid_subject ?? (baseUrl.startsWith("https:") ? baseUrl : "mailto:push@svc.invalid"),

    seal: (organizationId: string, provider: "fcm" | "apns", value: object): Promise<string> =>
      box.seal(organizationId, contextOf(provider), JSON.stringify(value)),

    async credentials(db: Db, organizationId: string): Promise<Credentials> {
      const found = await row(db, organizationId)
      return {
        webpush: {
          publicKey: found.vapid_public_key,
          privateKey: await box.open(organizationId, contextOf("webpush"), found.vapid_private_key),
          subject: this.subjectOf(found),
        },
        fcm: await this.fcm(found),
        apns: await this.apns(found),
      }
    },

    fcm: ({ organization_id, fcm }: ProviderRow) => opened<FcmCredentials>(organization_id, "fcm", fcm),
    apns: ({ organization_id, apns }: ProviderRow) => opened<ApnsCredentials>(organization_id, "apns", apns),

    update: async (db: Db, organizationId: string, change: Partial<ProviderRow>) => {
      if (Object.keys(change).length === 0) return
      await db
        .updateTable("notifications.providers")
        .set(change)
        .where("organization_id", "=", organizationId)
        .execute()
    },
  }
}

export type ProviderSettings = ReturnType<typeof createProviderSettings>
