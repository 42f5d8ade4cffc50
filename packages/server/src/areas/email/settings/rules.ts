import type { areas, Input, Output } from "@svc/contract"
import { toIso } from "../../../kernel/to-iso.ts"
import type { SendingSettings } from "../delivery.ts"
import type { SettingsRow } from "./store.ts"

type Specs = typeof areas.email.specs
type SettingsInput = Input<Specs["updateSettings"]>
type EmailSettings = Output<Specs["getSettings"]>

const MAX_PER_SECOND = 10
const SUBMISSION_PORT = 587

/** What an organization has that never set anything. */
export const defaultSettings = (organizationId: string): Omit<SettingsRow, "updated_at"> => ({
  organization_id: organizationId,
  ...{ from_email: null, from_name: null, reply_to: null },
  ...{ mode: "provider", relay_host: null, relay_port: null, relay_security: null },
  ...{ relay_username: null, relay_password: null, max_per_second: MAX_PER_SECOND },
  ...{ own_domain_delivery_enabled: false, enabled_at: null, paused_at: null, paused_reason: null },
  ...{ default_domain_id: null, track_opens: false, track_clicks: false },
  ...{ suppress_hard_bounce: true, suppress_complaint: true },
})

const relayColumns = (relay: NonNullable<SettingsInput["delivery"]>["relay"]) => ({
  relay_host: relay?.host.toLowerCase() ?? null,
  relay_port: relay ? (relay.port ?? SUBMISSION_PORT) : null,
  relay_security: relay ? (relay.security ?? "starttls") : null,
  relay_username: relay?.username ?? null,
})

/**
 * The row that replaces another; its password is still to be decided. Enabling own-domain delivery ends a pause, and
 * the mails before it no longer count.
 */
export const replacing = (
  before: Omit<SettingsRow, "updated_at">,
  given: SettingsInput,
  now: Date,
): SettingsRow => {
  const { sender, delivery, tracking, suppress_on } = given
  const isEnabled = given.own_domain_delivery_enabled ?? false
  const isNew = isEnabled && !before.own_domain_delivery_enabled
  return {
    ...before,
    ...{ from_email: sender?.from_email ?? null, from_name: sender?.from_name || null },
    ...{ reply_to: sender?.reply_to ?? null, mode: delivery?.mode ?? "provider" },
    ...relayColumns(delivery?.relay),
    max_per_second: delivery?.max_per_second ?? MAX_PER_SECOND,
    own_domain_delivery_enabled: isEnabled,
    enabled_at: isNew ? now : before.enabled_at,
    ...(isEnabled && { paused_at: null, paused_reason: null }),
    default_domain_id: given.default_domain_id ?? null,
    ...{ track_opens: tracking?.opens ?? false, track_clicks: tracking?.clicks ?? false },
    suppress_hard_bounce: suppress_on?.hard_bounce ?? true,
    suppress_complaint: suppress_on?.complaint ?? true,
    updated_at: now,
  }
}

/**
 * Whether a password that was left out is the one from before: only for the same server and user, or whoever may
 * change the settings could have it sent to a server of theirs.
 */
export const keepsPassword = (before: Omit<SettingsRow, "updated_at">, after: SettingsRow): boolean =>
  after.relay_host !== null &&
  after.relay_host === before.relay_host &&
  after.relay_port === before.relay_port &&
  after.relay_username === before.relay_username &&
  after.relay_security === before.relay_security

type Paused = NonNullable<EmailSettings["delivery_paused"]>
type Shown = Omit<SettingsRow, "updated_at"> & { readonly updated_at: Date | null }

export const toSettings = (row: Shown): EmailSettings => ({
  sender: { from_email: row.from_email, from_name: row.from_name, reply_to: row.reply_to },
  delivery: {
    mode: row.mode as EmailSettings["delivery"]["mode"],
    relay:
      row.relay_host === null
        ? null
        : {
            host: row.relay_host,
            port: row.relay_port ?? SUBMISSION_PORT,
            security: row.relay_security as "starttls" | "tls" | "none",
            username: row.relay_username,
            password_set: row.relay_password !== null,
          },
    max_per_second: row.max_per_second,
  },
  own_domain_delivery_enabled: row.own_domain_delivery_enabled,
  delivery_paused: row.paused_at && {
    at: row.paused_at.toISOString(),
    reason: row.paused_reason as Paused["reason"],
  },
  default_domain_id: row.default_domain_id,
  tracking: { opens: row.track_opens, clicks: row.track_clicks },
  suppress_on: { hard_bounce: row.suppress_hard_bounce, complaint: row.suppress_complaint },
  updated_at: toIso(row.updated_at),
})

export const toSendingSettings = (
  row: Omit<SettingsRow, "updated_at">,
  password: string | null,
): SendingSettings => ({
  sender: { fromEmail: row.from_email, fromName: row.from_name, replyTo: row.reply_to },
  mode: row.mode as SendingSettings["mode"],
  relay:
    row.mode !== "relay" || row.relay_host === null
      ? null
      : {
          host: row.relay_host,
          port: row.relay_port ?? SUBMISSION_PORT,
          security: row.relay_security as "starttls" | "tls" | "none",
          username: row.relay_username,
          password,
        },
  maxPerSecond: row.max_per_second,
  ownDomainDeliveryEnabled: row.own_domain_delivery_enabled,
  trackOpens: row.track_opens,
  trackClicks: row.track_clicks,
})
