/** Which names may be custom domains. */
import { isIP } from "node:net"
import { domainToASCII } from "node:url"

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
const NAME = new RegExp(`^(?:${LABEL}\\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$`)
const LENGTH_MAX = 253
/** Names that nobody can own, and those of local networks (RFC 6761, 6762, 8375, 9476). */
const SPECIAL: ReadonlySet<string> = new Set([
  "localhost",
  "local",
  "internal",
  "invalid",
  "onion",
  "alt",
  "arpa",
])

/** In lower case, without a final dot, in ASCII; undefined where it is no host name of the internet. */
export const readDomain = (text: string): string | undefined => {
  const name = domainToASCII(text.trim().replace(/\.$/, "")).toLowerCase()
  const last = name.split(".").at(-1) ?? ""
  if (name.length > LENGTH_MAX || !NAME.test(name) || isIP(name) !== 0 || SPECIAL.has(last)) return undefined
  return name
}

const isWithin = (name: string, domain: string): boolean => name === domain || name.endsWith(`.${domain}`)

/** Whether a name is one of the installation: whoever had it could answer in its place. */
export const isReserved = (name: string, own: readonly string[]): boolean =>
  own.some(domain => isWithin(name, domain))

/** The name in a Host header. */
export const hostOf = (header: string | undefined): string =>
  (header ?? "").toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "")
