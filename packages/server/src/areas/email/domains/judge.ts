/** Whether what name servers answer is what a record has to be. */
import type { DnsFinding, DnsPort, DnsType } from "../../../ports/dns/port.ts"
import type { WantedRecord } from "./records.ts"

export interface Judgement {
  readonly status: "pending" | "verified" | "failed" | "temporary_failure"
  readonly found: readonly string[]
  readonly error: string | null
}

export type DnsLookup = (name: string, type: DnsType) => Promise<DnsFinding>

/** Of DNS lookups that evaluating one SPF record may cost (RFC 7208, 4.6.4). */
const SPF_LOOKUPS_MAX = 10
/** Records above a domain that are tried for a DMARC policy (RFC 9989, DNS tree walk). */
const DMARC_QUERIES_MAX = 8
const FOUND_CHARACTERS_MAX = 500
const FOUND_MAX = 10

const shown = (values: readonly string[]): string[] =>
  values.slice(0, FOUND_MAX).map(value => value.slice(0, FOUND_CHARACTERS_MAX))

const verified = (found: readonly string[]): Judgement => ({
  ...{ status: "verified", found: shown(found), error: null },
})
const failed = (found: readonly string[], error: string): Judgement => ({
  ...{ status: "failed", found: shown(found), error },
})
const pending = (error: string): Judgement => ({ status: "pending", found: [], error })

/** `v=DKIM1; k=rsa; p=…` → its tags; white space means nothing (RFC 6376, 3.2). Null when one comes twice. */
const tagsOf = (text: string): ReadonlyMap<string, string> | null => {
  const tags = new Map<string, string>()
  for (const part of text.split(";")) {
    const at = part.indexOf("=")
    if (at < 0) continue
    const name = part.slice(0, at).trim().toLowerCase()
    if (tags.has(name)) return null
    tags.set(name, part.slice(at + 1).replaceAll(/\s/g, ""))
  }
  return tags
}

const judgeOwnership = ({ value }: WantedRecord, found: readonly string[]): Judgement =>
  found.some(text => text.trim().toLowerCase() === value.toLowerCase())
    ? verified(found)
    : failed(found, "None of the values found is the one for this organization.")

/** The key itself is compared letter by letter: base64 knows upper and lower case. */
const judgeDkim = ({ value }: WantedRecord, found: readonly string[]): Judgement => {
  const records = found.map(tagsOf)
  const [tags] = records
  if (records.length > 1)
    return failed(found, "There are several records, and receivers may take any of them.")
  if (!tags) return failed(found, "The record names a tag twice.")
  if ((tags.get("v") ?? "DKIM1") !== "DKIM1") return failed(found, "The record is not of version DKIM1.")
  if ((tags.get("k") ?? "rsa").toLowerCase() !== "rsa")
    return failed(found, "The record's key type is not rsa.")
  const key = tags.get("p")
  if (key === undefined) return failed(found, "The record has no key (p=).")
  if (key === "") return failed(found, "The record revokes the key: p= is empty.")
  const ours = tagsOf(value)?.get("p") ?? ""
  if (key === ours) return verified(found)
  return failed(
    found,
    ours.startsWith(key) ? "The key is cut off." : "The key is another than the one to publish.",
  )
}

const judgeMx = ({ value }: WantedRecord, found: readonly string[]): Judgement => {
  const hosts = found.map(mx => mx.split(" ")[1])
  if (!hosts.includes(value.toLowerCase())) return failed(found, `No MX record points at ${value}.`)
  return hosts.some(host => host !== value.toLowerCase())
    ? failed(found, "Other servers take mail for this name too, and bounces that reach them are lost.")
    : verified(found)
}

const isSpf = (text: string): boolean => /^v=spf1( |$)/i.test(text)

const spfTerms = (text: string): string[] => text.toLowerCase().split(/ +/).slice(1).filter(Boolean)

/** The term's mechanism with the name it looks up, for those that cost a lookup (RFC 7208, 4.6.4). */
const lookupOf = (term: string): { followed: string | undefined } | undefined => {
  const [, mechanism, name] =
    /^[+?~-]?(include|a|mx|ptr|exists|redirect)(?:[:=]([^/]*))?(?:\/.*)?$/.exec(term) ?? []
  if (mechanism === undefined) return undefined
  return { followed: mechanism === "include" || mechanism === "redirect" ? name : undefined }
}

/** Lookups that the terms cost, included records' too; counting ends one past the bound. */
const countLookups = async (terms: readonly string[], look: DnsLookup): Promise<number> => {
  let count = 0
  const waiting = [...terms]
  for (let term = waiting.shift(); term !== undefined; term = waiting.shift()) {
    const lookup = lookupOf(term)
    if (!lookup) continue
    count += 1
    if (count > SPF_LOOKUPS_MAX) return count
    // A name made of macros is known only when a mail comes.
    if (!lookup.followed || lookup.followed.includes("%")) continue
    const finding = await look(lookup.followed, "TXT")
    const record = finding.kind === "found" ? finding.values.find(isSpf) : undefined
    if (record !== undefined) waiting.push(...spfTerms(record))
  }
  return count
}

const judgeSpf = async (
  { value }: WantedRecord,
  all: readonly string[],
  look: DnsLookup,
): Promise<Judgement> => {
  const found = all.filter(isSpf)
  const [record] = found
  if (record === undefined)
    return { ...pending("There is no record that begins with v=spf1."), found: shown(all) }
  if (found.length > 1)
    return failed(found, "There are several records with v=spf1; there must be exactly one.")
  const terms = spfTerms(record)
  const missing = spfTerms(value).filter(term => !term.endsWith("all") && !terms.includes(term))
  if (missing.length > 0) return failed(found, `The record lacks ${missing.join(" ")}.`)
  const isLate = terms.findIndex(term => /^[+?~-]?all$/.test(term))
  const last = Math.max(...spfTerms(value).map(term => (term.endsWith("all") ? -1 : terms.indexOf(term))))
  if (isLate >= 0 && isLate < last) return failed(found, "What follows `all` in the record is never read.")
  if ((await countLookups(terms, look)) > SPF_LOOKUPS_MAX)
    return failed(found, `The record costs more than ${SPF_LOOKUPS_MAX} lookups, so receivers reject it.`)
  return verified(found)
}

const isDmarc = (text: string): boolean => /^v\s*=\s*DMARC1\s*(;|$)/i.test(text.trim())

/** The names at which a policy for a domain may stand: its own, then those of the domains around it. */
export const dmarcNames = (domain: string): string[] => {
  const labels = domain.split(".")
  const above = labels.map((_, at) => labels.slice(at).join(".")).slice(1, -1)
  return [domain, ...above.slice(-(DMARC_QUERIES_MAX - 1))].map(name => `_dmarc.${name}`)
}

/** A tree walk finds the organisational domain's policy without a list of public suffixes (RFC 9989). */
const judgeDmarc = async ({ name }: WantedRecord, look: DnsLookup): Promise<Judgement> => {
  for (const candidate of dmarcNames(name.slice("_dmarc.".length))) {
    const finding = await look(candidate, "TXT")
    if (finding.kind === "unanswered") return unanswered(finding.reason)
    const found = finding.kind === "found" ? finding.values.filter(isDmarc) : []
    const [policy] = found
    if (policy === undefined) continue
    if (found.length > 1) return failed(found, "There are several policies, so receivers apply none.")
    const p = tagsOf(policy)?.get("p")?.toLowerCase()
    return p === "none" || p === "quarantine" || p === "reject"
      ? verified(found)
      : failed(found, "The policy has no p= of none, quarantine or reject.")
  }
  return pending("Neither the domain nor one above it has a DMARC policy.")
}

const unanswered = (reason: string): Judgement => ({
  ...{ status: "temporary_failure", found: [], error: `Name servers did not answer (${reason}).` },
})

/** Looks one record up and judges it. */
export const judge = async (wanted: WantedRecord, look: DnsLookup): Promise<Judgement> => {
  if (wanted.record === "DMARC") return judgeDmarc(wanted, look)
  const finding = await look(wanted.name, wanted.type)
  if (finding.kind === "unanswered") return unanswered(finding.reason)
  if (finding.kind === "missing") return pending(`There is no ${wanted.type} record of this name yet.`)
  const { values } = finding
  switch (wanted.record) {
    case "OWNERSHIP":
      return judgeOwnership(wanted, values)
    case "DKIM":
      return judgeDkim(wanted, values)
    case "RETURN_PATH":
      return judgeMx(wanted, values)
    case "SPF":
      return judgeSpf(wanted, values, look)
    default:
      return values.includes(wanted.value.toLowerCase())
        ? verified(values)
        : failed(values, `The name is not an alias of ${wanted.value}.`)
  }
}

export const lookWith =
  (dns: DnsPort, signal: AbortSignal): DnsLookup =>
  (name, type) =>
    dns.look(name, type, signal)
