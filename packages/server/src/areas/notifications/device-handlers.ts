import { createHash } from "node:crypto"
import { type areas, type Input, NOTIFICATION_DEVICES_MAX, page, pageOf } from "@svc/contract"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { deviceStore } from "./device-store.ts"
import { toDevice } from "./payloads.ts"
import type { ProviderSettings } from "./providers.ts"
import type { Recipients } from "./recipients.ts"

type Specs = typeof areas.notifications.specs
type DeviceInput = Input<Specs["registerDevice"]>

export interface DeviceHandlerNeeds {
  readonly recipients: Recipients
  readonly box: SecretBox
  readonly providers: ProviderSettings
  readonly urlProblem: (url: string) => string | undefined
}

/** Where a device is pushed to, as it is sealed. */
export type DeviceTarget =
  | { readonly token: string }
  | { readonly endpoint: string; readonly p256dh: string; readonly auth: string }

/** What a device's target is sealed as. It outlives a new owner, so it names the token and not whose it is. */
export const targetContext = (provider: string, tokenHash: Buffer): string =>
  `notifications.device:${provider}:${tokenHash.toString("hex")}`

const PLATFORM_OF = { webpush: "web", unifiedpush: "android", fcm: "android", apns: "ios" } as const
const HINT_LENGTH = 4
const POINT_BYTES = 65
const AUTH_BYTES = 16

const invalid = (reason: string) => fault("invalid_parameter", { reason })

const bytesOf = (text: string): Buffer => Buffer.from(text, "base64url")

const subscriptionOf = ({ subscription }: DeviceInput, urlProblem: DeviceHandlerNeeds["urlProblem"]) => {
  if (!subscription) throw fault("missing_parameter", { field: "subscription" })
  const { endpoint, keys } = subscription
  const problem = urlProblem(endpoint)
  if (problem !== undefined) throw invalid(`subscription.endpoint: ${problem}`)
  const point = bytesOf(keys.p256dh)
  if (point.length !== POINT_BYTES || point[0] !== 4)
    throw invalid("subscription.keys.p256dh must be an uncompressed point of P-256 in base64url")
  if (bytesOf(keys.auth).length !== AUTH_BYTES)
    throw invalid("subscription.keys.auth must be 16 bytes in base64url")
  return { endpoint, p256dh: keys.p256dh, auth: keys.auth }
}

/** Where to push, and what makes it the same device. */
const targetOf = (
  input: DeviceInput,
  urlProblem: DeviceHandlerNeeds["urlProblem"],
): { readonly target: DeviceTarget; readonly address: string } => {
  const { provider, token } = input
  if (provider === "webpush" || provider === "unifiedpush") {
    const target = subscriptionOf(input, urlProblem)
    return { target, address: target.endpoint }
  }
  if (token === undefined) throw fault("missing_parameter", { field: "token" })
  // It becomes part of a path.
  if (provider === "apns" && !/^[0-9a-f]{16,400}$/i.test(token)) throw invalid("token must be hexadecimal")
  return { target: { token }, address: provider === "apns" ? token.toLowerCase() : token }
}

export const deviceHandlers = ({ recipients, box, providers, urlProblem }: DeviceHandlerNeeds) => ({
  async listDevices(input: Input<Specs["listDevices"]>, call: Call) {
    const inbox = await recipients.settingsOf(call, input.user_id)
    const { rows, total } = await deviceStore(call.db).list(inbox, pageOf(input))
    return page({ rows: rows.map(toDevice), total }, input)
  },

  async registerDevice(input: DeviceInput, call: Call) {
    const { organizationId, userId } = await recipients.settingsOf(call, input.user_id)
    const { db, now } = call
    const { provider, name, locale, platform = PLATFORM_OF[provider] } = input
    const { target, address } = targetOf(input, urlProblem)
    const tokenHash = createHash("sha256").update(address).digest()
    const store = deviceStore(db)
    const row = await store.upsert({
      ...{ id: newId(now.getTime()), organization_id: organizationId, user_id: userId, platform, provider },
      ...{ environment: input.environment ?? "production", token_hash: tokenHash },
      token_hint: `…${address.slice(-HINT_LENGTH)}`,
      target: await box.seal(organizationId, targetContext(provider, tokenHash), JSON.stringify(target)),
      ...{ name: name ?? null, locale: locale ?? null, last_success_at: null },
      ...{ invalidated_at: null, invalid_reason: null, created_at: now, updated_at: now },
    })
    if ((await store.count({ organizationId, userId })) > NOTIFICATION_DEVICES_MAX)
      throw invalid(`there are ${NOTIFICATION_DEVICES_MAX} devices already`)
    call.describe({ targets: [{ type: "device", id: row.id }] })
    const isWeb = provider === "webpush" || provider === "unifiedpush"
    const key = isWeb ? (await providers.row(db, organizationId)).vapid_public_key : undefined
    return { ...toDevice(row), ...(key !== undefined && { vapid_public_key: key }) }
  },

  async unregisterDevice({ device_id: id, user_id }: Input<Specs["unregisterDevice"]>, call: Call) {
    const inbox = await recipients.settingsOf(call, user_id)
    const row = await requireRow(deviceStore(call.db).delete(inbox, id), "device_not_found", { id })
    call.describe({ targets: [{ type: "device", id }] })
    return { ...toDevice(row), active: false }
  },
})
