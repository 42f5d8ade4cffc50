import type { areas, Output } from "@svc/contract"
import { toIso } from "../../../kernel/to-iso.ts"
import type { Findings } from "./progress.ts"
import { type MailHosts, RECORD_TTL_SECONDS, wantedRecords } from "./records.ts"
import type { DomainRow } from "./store.ts"

type EmailDomain = Output<typeof areas.email.specs.getDomain>

export const toDomain = (row: DomainRow, hosts: MailHosts, isDeliveryEnabled: boolean): EmailDomain => {
  const findings = row.findings as Findings
  return {
    id: row.id,
    domain: row.domain,
    status: row.status as EmailDomain["status"],
    delivery_enabled: row.status === "verified" && row.ownership_proven && isDeliveryEnabled,
    dkim_selector: row.dkim_selector,
    return_path: row.return_path,
    tracking_subdomain: row.tracking_subdomain,
    created_at: row.created_at.toISOString(),
    last_checked_at: toIso(row.last_checked_at),
    next_check_at: toIso(row.next_check_at),
    verified_at: toIso(row.verified_at),
    records: wantedRecords(row, hosts).map(wanted => {
      const finding = findings[wanted.record]
      return {
        ...wanted,
        ttl: RECORD_TTL_SECONDS,
        status: finding?.status ?? "not_started",
        found: [...(finding?.found ?? [])],
        error: finding?.error ?? null,
      }
    }),
  }
}
