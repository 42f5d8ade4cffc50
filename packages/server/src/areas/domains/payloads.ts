import type { DOMAIN_TARGETS } from "@svc/contract"
import { wantedRecords } from "./records.ts"
import type { DomainRow } from "./store.ts"

type TargetType = (typeof DOMAIN_TARGETS)[number]
type Status = "pending_verification" | "verifying" | "active" | "failed"

const iso = (date: Date | null): string | null => date?.toISOString() ?? null

const toCertificate = (row: DomainRow) => {
  if (row.certificate_source === null) return null
  const missing = row.certificate_error === null ? ("pending" as const) : ("failed" as const)
  return {
    source: row.certificate_source === "acme" ? ("acme" as const) : ("upload" as const),
    status: row.certificate_id === null ? missing : ("issued" as const),
    ...{ not_after: iso(row.certificate_not_after), next_attempt_at: iso(row.certificate_next_at) },
    last_error: row.certificate_error,
  }
}

export const toDomain = (row: DomainRow, cnameHost: string | undefined) => ({
  ...{ id: row.id, project_id: row.project_id, domain: row.domain, status: row.status as Status },
  records: wantedRecords(row, cnameHost).map(record => ({
    ...record,
    found: record.type === "TXT" ? row.txt_found : row.cname_found,
  })),
  target:
    row.target_type === null || row.target_id === null
      ? null
      : { type: row.target_type as TargetType, id: row.target_id, site: row.site },
  certificate: toCertificate(row),
  ...{ force_https: row.force_https, hsts: row.hsts, last_error: row.last_error },
  ...{ last_checked_at: iso(row.last_checked_at), verified_at: iso(row.verified_at) },
  ...{ created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() },
})
