import { isIP } from "node:net"
import type { AtRest } from "../../../core/secrets/at-rest.ts"
import type { TenantKeys } from "../../../core/secrets/tenant-keys.ts"
import type { Database } from "../../../kernel/db/database.ts"
import type { Installation } from "../../../kernel/tokens.ts"
import type { Check, Finding } from "./check.ts"

const KEY_AGE_DAYS_MAX = 90
const DAY_MS = 86_400_000

export interface EncryptionCheckNeeds {
  readonly database: Database
  readonly installation: Pick<Installation, "baseUrl">
  readonly atRest: Pick<AtRest, "encrypts">
  readonly tenantKeys: Pick<TenantKeys, "health" | "list">
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."))

const transport = (baseUrl: string): Finding => {
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === "https:") return { status: "pass", message: "The public address is HTTPS." }
  if (isLoopback(hostname))
    return { status: "not_applicable", message: "The platform is reached on this machine alone." }
  return {
    ...{ status: "fail", message: "Credentials cross the network in clear: the public address is HTTP." },
    remedy: "Put a proxy with TLS in front and set SVC_BASE_URL to its https address.",
  }
}

export const encryptionChecks = ({
  database,
  installation,
  atRest,
  tenantKeys,
}: EncryptionCheckNeeds): Check[] => [
  {
    ...{ id: "secrets_engine", category: "encryption", severity: "critical" },
    name: "The secrets engine opens the organization's keys",
    async look() {
      const { ok } = await tenantKeys.health()
      if (ok) return { status: "pass", message: "The secrets engine answers." }
      return {
        ...{ status: "fail", message: "The secrets engine does not answer." },
        remedy: "The log of the platform says why; SVC_MASTER_KEY or SVC_VAULT_ADDR name the engine.",
      }
    },
  },
  {
    ...{ id: "encryption_at_rest", category: "encryption", severity: "medium" },
    name: "What tenants store in the control database is encrypted",
    look: async () =>
      atRest.encrypts
        ? { status: "pass", message: "Stored contents are encrypted with the key of their tenant." }
        : {
            ...{ status: "warn", message: "Secrets are encrypted, other stored contents are not." },
            remedy: "Set SVC_ENCRYPT_AT_REST=on, or keep the data on an encrypted disk.",
          },
  },
  {
    ...{ id: "encryption_key_age", category: "encryption", severity: "medium" },
    name: `The organization's encryption key is at most ${KEY_AGE_DAYS_MAX} days old`,
    async look(organizationId, now) {
      const { rows } = await tenantKeys.list(database.db, organizationId, { limit: 1, offset: 0 })
      const [key] = rows
      if (!key)
        return { status: "not_applicable", message: "Nothing was encrypted for the organization yet." }
      const days = Math.floor((now.getTime() - key.created_at.getTime()) / DAY_MS)
      if (days <= KEY_AGE_DAYS_MAX) return { status: "pass", message: `The newest key is ${days} days old.` }
      return {
        ...{ status: "warn", message: `The newest key is ${days} days old.` },
        remedy: "Rotate it with `svc encryption rotate-key`.",
        failing: [{ type: "encryption_key", id: String(key.version) }],
      }
    },
  },
  {
    ...{ id: "transport", category: "encryption", severity: "high" },
    name: "The platform is reached over TLS",
    look: async () => transport(installation.baseUrl),
  },
]
