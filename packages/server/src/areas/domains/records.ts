/** The DNS records by which the owner of a domain proves it, and whether they are there. */
import type { DnsFinding, DnsPort } from "../../ports/dns/port.ts"

export interface Claim {
  readonly domain: string
  readonly token: string
}

export interface WantedRecord {
  readonly type: "TXT" | "CNAME"
  readonly name: string
  readonly value: string
  readonly purpose: "ownership" | "ownership_and_routing"
}

/**
 * A CNAME counts only when it points at the name of this very claim: one that points at the platform alone may have been
 * left behind by an owner who went elsewhere, and anybody could take it over.
 */
export const wantedRecords = ({ domain, token }: Claim, cnameHost: string | undefined): WantedRecord[] => [
  {
    ...{ type: "TXT", name: `_svc-challenge.${domain}`, purpose: "ownership" },
    value: `svc-domain-verification=${token}`,
  },
  ...(cnameHost === undefined
    ? []
    : [
        {
          ...{ type: "CNAME" as const, name: domain, purpose: "ownership_and_routing" as const },
          value: `${token}.${cnameHost}`,
        },
      ]),
]

export interface Proof {
  readonly txt_found: boolean
  readonly cname_found: boolean
  /** Whether some name server did not answer, so that no record may mean nothing. */
  readonly isUncertain: boolean
}

export const isProven = ({ txt_found, cname_found }: Proof): boolean => txt_found || cname_found

const holds = (finding: DnsFinding | undefined, value: string): boolean =>
  finding?.kind === "found" && finding.values.some(found => found.trim().toLowerCase() === value)

export const prove = async (
  dns: DnsPort,
  claim: Claim,
  cnameHost: string | undefined,
  signal: AbortSignal,
): Promise<Proof> => {
  const records = wantedRecords(claim, cnameHost)
  const findings = await Promise.all(records.map(({ name, type }) => dns.look(name, type, signal)))
  const [txt, cname] = records.map(({ value }, at) => holds(findings[at], value))
  return {
    txt_found: txt === true,
    cname_found: cname === true,
    isUncertain: findings.some(({ kind }) => kind === "unanswered"),
  }
}
