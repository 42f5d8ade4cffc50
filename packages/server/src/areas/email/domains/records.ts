/** The DNS records that a sending domain needs. */
import type { DnsRecordName } from "@svc/contract"
import type { DnsType } from "../../../ports/dns/port.ts"

/** What the operator's mail servers are called. */
export interface MailHosts {
  /** Takes bounces: what MX records point at. */
  readonly mailHost: string
  /** What SPF records name as allowed to send: `include:spf.example.com`, or several such terms. */
  readonly spfTerms: string
  /** Takes the clicks and opens of customers' own tracking names. */
  readonly trackingHost: string
}

export interface DomainNames {
  readonly domain: string
  readonly return_path: string
  readonly tracking_subdomain: string
  readonly ownership_token: string
  readonly dkim_selector: string
  readonly dkim_public_key: string
}

export interface WantedRecord {
  readonly record: DnsRecordName
  readonly type: DnsType
  readonly name: string
  readonly value: string
  readonly priority: number | null
  readonly required: boolean
}

export const RECORD_TTL_SECONDS = 3600
const MX_PRIORITY = 10
export const OWNERSHIP_PREFIX = "svc-domain-verification="

/** Tracking is a matter of taste, and so its record is required of nobody; DMARC is advised. */
export const wantedRecords = (names: DomainNames, hosts: MailHosts): readonly WantedRecord[] => {
  const { domain } = names
  const bounces = `${names.return_path}.${domain}`
  const txt = (record: DnsRecordName, name: string, value: string, required = true): WantedRecord => ({
    ...{ record, type: "TXT", name, value, priority: null, required },
  })
  return [
    txt("OWNERSHIP", `_svc-verify.${domain}`, `${OWNERSHIP_PREFIX}${names.ownership_token}`),
    txt("DKIM", `${names.dkim_selector}._domainkey.${domain}`, `v=DKIM1; k=rsa; p=${names.dkim_public_key}`),
    {
      ...{ record: "RETURN_PATH", type: "MX", name: bounces, value: hosts.mailHost },
      ...{ priority: MX_PRIORITY, required: true },
    },
    txt("SPF", bounces, `v=spf1 ${hosts.spfTerms} ~all`),
    txt("DMARC", `_dmarc.${domain}`, `v=DMARC1; p=none; rua=mailto:dmarc@${domain}`, false),
    {
      ...{ record: "TRACKING", type: "CNAME", name: `${names.tracking_subdomain}.${domain}` },
      ...{ value: hosts.trackingHost, priority: null, required: false },
    },
  ]
}
