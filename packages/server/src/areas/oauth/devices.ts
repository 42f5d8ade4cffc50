/** Devices without a browser: their codes, and what they are told while a person decides (RFC 8628). */
import { randomInt } from "node:crypto"
import { OAUTH_DECISION_SECONDS, OAUTH_DEVICE_GRANT, OAUTH_DEVICE_INTERVAL_SECONDS } from "@svc/contract"
import { newToken, tokenHash } from "../../core/accounts/token.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { askedScopes, undecided } from "./authorize.ts"
import type { AuthorizationRow, ClientRow } from "./store.ts"

const DEVICE_PREFIX = "svc_odc_"
/** Consonants alone make no words; the form is RFC 8628's own example (6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
const CODE_LENGTH = 8
/** What is added to the interval of a device that asks too often. */
const SLOW_DOWN_SECONDS = 5
const POLL_SECONDS_MAX = 60

const newUserCode = (): string =>
  Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("")

/** As it is shown: in two halves. */
export const shownCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

/** As it is stored, however a person typed it. */
export const plainCode = (typed: string): string => typed.toUpperCase().replaceAll(/[^A-Z]/g, "")

export const newDevice = (client: ClientRow, scope: string | undefined, now: Date) => {
  if (!client.grant_types.includes(OAUTH_DEVICE_GRANT)) throw fault("oauth_unauthorized_client")
  const scopes = askedScopes(client, scope)
  if (!scopes) throw fault("oauth_invalid_scope")
  const deviceCode = newToken(DEVICE_PREFIX)
  const row: AuthorizationRow = {
    ...undecided,
    ...{ id: newId(now.getTime()), flow: "device", status: "pending", client_id: client.id, scopes },
    ...{ redirect_uri: null, state: null, code_challenge: null },
    ...{ secret_hash: tokenHash(deviceCode), user_code: newUserCode() },
    ...{ poll_seconds: OAUTH_DEVICE_INTERVAL_SECONDS, created_at: now },
    expires_at: new Date(now.getTime() + OAUTH_DECISION_SECONDS * 1000),
  }
  return { row, deviceCode }
}

export type Poll =
  | { readonly kind: "approved" }
  | {
      readonly kind: "refused"
      readonly code: "oauth_access_denied" | "oauth_expired_token" | "oauth_invalid_grant"
    }
  | {
      readonly kind: "waits"
      readonly code: "oauth_authorization_pending" | "oauth_slow_down"
      readonly change: Pick<AuthorizationRow, "polled_at" | "poll_seconds">
    }

/** What a device is told that asks now. */
export const judgePoll = (row: AuthorizationRow, now: Date): Poll => {
  if (row.status === "redeemed") return { kind: "refused", code: "oauth_invalid_grant" }
  if (row.expires_at <= now) return { kind: "refused", code: "oauth_expired_token" }
  if (row.status === "denied") return { kind: "refused", code: "oauth_access_denied" }
  if (row.status === "approved") return { kind: "approved" }
  const seconds = row.poll_seconds ?? OAUTH_DEVICE_INTERVAL_SECONDS
  const isEarly = row.polled_at !== null && now.getTime() - row.polled_at.getTime() < seconds * 1000
  if (!isEarly)
    return {
      kind: "waits",
      code: "oauth_authorization_pending",
      change: { polled_at: now, poll_seconds: seconds },
    }
  const poll_seconds = Math.min(seconds + SLOW_DOWN_SECONDS, POLL_SECONDS_MAX)
  return { kind: "waits", code: "oauth_slow_down", change: { polled_at: now, poll_seconds } }
}
