/** Looks up what the owner of a domain published, as it is now. */
import { openedToken } from "../../kernel/token.ts"

export type DnsType = "TXT" | "MX" | "CNAME"

/**
 * - `found`: the data of the records. A TXT is its strings joined; an MX is `priority host`. Names are in lower case
 *   and without a final dot.
 * - `missing`: the name has no such record, or does not exist.
 * - `unanswered`: no name server gave an answer that counts; nothing is known.
 */
export type DnsFinding =
  | { readonly kind: "found"; readonly values: readonly string[] }
  | { readonly kind: "missing" }
  | { readonly kind: "unanswered"; readonly reason: string }

export interface DnsPort {
  /** Answers within ten seconds, whatever name servers do, and never rejects. At most 50 records. */
  look(name: string, type: DnsType, signal: AbortSignal): Promise<DnsFinding>
}

export const dns = openedToken<DnsPort>("dns")
