import { isIP } from "node:net"
import { domainToASCII } from "node:url"

const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/

/**
 * A domain as name servers write it (ASCII, lower case, no final dot); undefined for what cannot be one that somebody
 * owns: an address, a single label, a label that is no host name's.
 */
export const readDomain = (text: string): string | undefined => {
  const domain = domainToASCII(text.trim().replace(/\.$/, "")).toLowerCase()
  // Room for the longest name of a record in front of it.
  if (domain === "" || domain.length > 200 || isIP(domain) !== 0) return undefined
  const labels = domain.split(".")
  const isValid = labels.length >= 2 && labels.every(label => label.length <= 63 && LABEL.test(label))
  return isValid && !/^\d+$/.test(labels.at(-1) ?? "") ? domain : undefined
}
