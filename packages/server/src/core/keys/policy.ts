/** What an organization demands of its keys. Publishable keys are exempt: they are no secret, and browsers everywhere have them. */
import { isIP } from "node:net"
import type { areas, Output } from "@svc/contract"
import { parseCidrs } from "../../kernel/edges/client-address.ts"
import { fault } from "../../kernel/fault.ts"
import type { OrganizationRow } from "../organizations/store.ts"
import type { KeyRow } from "./store.ts"

const DAY_MS = 24 * 3_600_000

export type KeyPolicy = Output<(typeof areas.organizations.specs)["get"]>["key_policy"]
export type KeyRule = Output<(typeof areas.keys.specs)["get"]>["policy_violations"][number]

type PolicyColumns = Pick<
  OrganizationRow,
  "key_max_lifetime_days" | "key_allowed_addresses" | "key_read_only" | "key_require_approval"
>

export const noKeyPolicy = {
  key_max_lifetime_days: null,
  key_allowed_addresses: [],
  key_read_only: false,
  key_require_approval: false,
} satisfies PolicyColumns

export const toKeyPolicy = (row: PolicyColumns): KeyPolicy => ({
  max_lifetime_days: row.key_max_lifetime_days,
  allowed_addresses: row.key_allowed_addresses,
  read_only: row.key_read_only,
  require_approval: row.key_require_approval,
})

export const fromKeyPolicy = (policy: Partial<KeyPolicy>): PolicyColumns => ({
  key_max_lifetime_days: policy.max_lifetime_days ?? null,
  key_allowed_addresses: policy.allowed_addresses ?? [],
  key_read_only: policy.read_only ?? false,
  key_require_approval: policy.require_approval ?? false,
})

const partsOf = (cidr: string) => {
  const [address = "", prefix] = cidr.split("/")
  const family = isIP(address)
  return { address, family, bits: Number(prefix ?? (family === 6 ? 128 : 32)) }
}

/** Ranges of the two families never hold each other here, mapped addresses too: what is doubtful is outside. */
const isWithin = (inner: string, outer: string): boolean => {
  const [one, other] = [partsOf(inner), partsOf(outer)]
  if (one.family !== other.family || one.bits < other.bits) return false
  return parseCidrs([outer]).check(one.address, one.family === 6 ? "ipv6" : "ipv4")
}

type Judged = Pick<KeyRow, "type" | "expires_at" | "ip_allowlist">

/** The part of the list that the policy does not hold; `[]` for a list that is within it. */
const outside = (policy: KeyPolicy, { ip_allowlist }: Pick<KeyRow, "ip_allowlist">): string[] => {
  const allowed = policy.allowed_addresses
  if (allowed.length === 0) return []
  if (ip_allowlist.length === 0) return ["every address"]
  return ip_allowlist.filter(range => !allowed.some(outer => isWithin(range, outer)))
}

const lifetimeMax = ({ max_lifetime_days: days }: KeyPolicy): number =>
  days === null ? Number.POSITIVE_INFINITY : days * DAY_MS

const livesTooLong = (policy: KeyPolicy, { expires_at }: Pick<KeyRow, "expires_at">, madeAt: Date): boolean =>
  policy.max_lifetime_days !== null &&
  (expires_at === null || expires_at.getTime() - madeAt.getTime() > lifetimeMax(policy))

/** How long a key lives of which nothing was said; null: for ever. */
export const lifetimeUnder = (policy: KeyPolicy, usualMs: number | null): number | null => {
  const most = lifetimeMax(policy)
  if (usualMs === null) return Number.isFinite(most) ? most : null
  return Math.min(usualMs, most)
}

export const checkAddresses = (policy: KeyPolicy, key: Pick<KeyRow, "type" | "ip_allowlist">) => {
  if (key.type === "publishable") return
  const [range] = outside(policy, key)
  if (range !== undefined)
    throw fault("key_policy_violated", {
      reason: `allowed_addresses: ${range} is not within ${policy.allowed_addresses.join(", ")}`,
    })
}

/** Refuses a key made now that the policy does not allow. */
export const checkPolicy = (policy: KeyPolicy, key: Judged, now: Date) => {
  if (key.type === "publishable") return
  if (livesTooLong(policy, key, now))
    throw fault("key_policy_violated", { reason: `max_lifetime_days is ${policy.max_lifetime_days}` })
  checkAddresses(policy, key)
}

/** The rules that a key, which may be older than they are, does not meet. */
export const brokenRules = (policy: KeyPolicy, key: Judged & Pick<KeyRow, "created_at">): KeyRule[] => {
  if (key.type === "publishable") return []
  const broken: KeyRule[] = []
  if (livesTooLong(policy, key, key.created_at)) broken.push("max_lifetime_days")
  if (outside(policy, key).length > 0) broken.push("allowed_addresses")
  return broken
}
