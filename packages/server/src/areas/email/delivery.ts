/**
 * What sending a mail asks of the delivery side: how the organization wants it sent, who signs it, who must not get it,
 * and the links in it.
 */
import type { Db } from "../../kernel/db/database.ts"

export interface Relay {
  readonly host: string
  readonly port: number
  readonly security: "starttls" | "tls" | "none"
  readonly username: string | null
  readonly password: string | null
}

/** The settings of one organization, defaults filled in and the password opened. */
export interface SendingSettings {
  readonly sender: {
    readonly fromEmail: string | null
    readonly fromName: string | null
    readonly replyTo: string | null
  }
  readonly mode: "provider" | "relay" | "direct"
  /** Present in mode `relay`. */
  readonly relay: Relay | null
  readonly maxPerSecond: number
  /** False also while delivery is paused. */
  readonly ownDomainDeliveryEnabled: boolean
  readonly trackOpens: boolean
  readonly trackClicks: boolean
}

/** What signs for a verified domain. */
export interface Signer {
  readonly domain: string
  readonly selector: string
  /** PKCS #8, PEM. */
  readonly privateKey: string
  /** The domain of bounces: `bounce.mail.example.com`. */
  readonly returnPathDomain: string
}

/** One recipient of one mail. */
export interface Recipient {
  readonly organizationId: string
  readonly recipientId: string
}

export interface EmailDelivery {
  /** `on` is the transaction of a caller that has one: waiting for another connection could take for ever. */
  settingsOf(organizationId: string, on?: Db): Promise<SendingSettings>
  /**
   * Undefined unless the domain is the organization's, and verified. Whether it may send at all, the settings say:
   * `ownDomainDeliveryEnabled`.
   */
  findSigner(organizationId: string, fromDomain: string, on?: Db): Promise<Signer | undefined>
  /** Of these addresses those that are suppressed, in lower case. One query. */
  suppressed(db: Db, organizationId: string, addresses: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Adds an address that bounced or complained, where the settings say so. Call it beside the event, in its
   * transaction.
   */
  suppressAfter(
    db: Db,
    event: {
      readonly organizationId: string
      readonly address: string
      readonly kind: "hard_bounce" | "complaint"
      readonly emailId: string
      readonly at: Date
    },
  ): Promise<void>
  /** The envelope sender of a mail that goes out under a signer; undefined while nothing takes bounces. */
  returnPath(recipient: Recipient, signer: Signer): Promise<string | undefined>
  /** The HTML with its links and a picture that tell of clicks and opens; nothing but http(s) links is touched. */
  track(
    recipient: Recipient,
    html: string,
    wanted: { readonly opens: boolean; readonly clicks: boolean },
  ): Promise<string>
  /** `List-Unsubscribe` and `List-Unsubscribe-Post` (RFC 8058) of one recipient's mail. */
  unsubscribeHeaders(recipient: Recipient): Promise<Readonly<Record<string, string>>>
}
