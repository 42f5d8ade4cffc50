import { isIP } from "node:net"
import type { AddressClass } from "./addresses.ts"
import { OutboundError, type Rule } from "./outbound.ts"

const URL_CHARACTERS_MAX = 8_192

export const refused = (rule: Rule, message: string): OutboundError =>
  new OutboundError({ kind: "refused", rule, message })

const MENDING = "The operator can open targets with SVC_OUTBOUND_ALLOW."

export const refusedAddress = (): OutboundError =>
  refused("address", `The URL's host is not on the public Internet. ${MENDING}`)

export interface TargetOptions {
  readonly verdictOf: (address: string) => AddressClass
  /** Whether the operator opened anything, so that a local name or plain http can lead somewhere. */
  readonly isAnyOpened: boolean
  /** Refuses plain http. */
  readonly isProduction: boolean
  /** Host of the platform's own address. */
  readonly ownName: string
}

export interface TargetRules {
  /** The URL to request, its host without brackets' content changed and without a final dot; throws an OutboundError. */
  read(text: string): URL
  /** Whether a connection of that protocol to that host may go to that address of it. */
  admits(protocol: string, host: string, address: string): boolean
}

const parse = (text: string): URL => {
  // Parsers drop some control characters, and what people and logs see would then not be what is requested.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (text.length > URL_CHARACTERS_MAX || /[\u0000-\u001f\u007f]/.test(text) || !URL.canParse(text))
    throw refused("url", "This is not a URL that can be requested.")
  return new URL(text)
}

export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1")

/** RFC 1035, with the underscore that people use all the same. */
const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/

/** RFC 6761, RFC 6762, and the names of `.internal`, which ICANN reserved for private use. */
const LOCAL_SUFFIX = /(^|\.)(localhost|local|internal)$/

export const createTargetRules = (options: TargetOptions): TargetRules => {
  const { verdictOf, isAnyOpened, isProduction, ownName } = options
  const isLocal = (host: string): boolean =>
    isIP(host) === 0 && (!host.includes(".") || LOCAL_SUFFIX.test(host) || host === ownName)
  const isPlain = (protocol: string): boolean => isProduction && protocol === "http:"

  const admits = (protocol: string, host: string, address: string): boolean => {
    const verdict = verdictOf(address)
    return verdict === "opened" || (verdict === "public" && !isLocal(host) && !isPlain(protocol))
  }

  const checkHost = (protocol: string, host: string): void => {
    if (isIP(host) !== 0) {
      if (!admits(protocol, host, host)) throw refusedAddress()
      return
    }
    if (!NAME.test(host)) throw refused("name", "The URL's host is not a name that can be looked up.")
    if (isLocal(host) && !isAnyOpened)
      throw refused("name", `The URL's host is a name of a local network. ${MENDING}`)
  }

  return {
    read(text) {
      const url = parse(text)
      const { protocol } = url
      if (protocol !== "https:" && protocol !== "http:")
        throw refused("scheme", "The URL must start with https://.")
      if (url.username !== "" || url.password !== "")
        throw refused("credentials", "The URL must not hold a user name or a password.")
      const port = Number(url.port || 443)
      if (port < 1024 && port !== 80 && port !== 443)
        throw refused("port", "The URL's port must be 80, 443, or 1024 and above.")
      url.hostname = url.hostname.replace(/\.$/, "")
      url.hash = ""
      const isUnopened = isIP(hostOf(url)) === 0 ? !isAnyOpened : verdictOf(hostOf(url)) !== "opened"
      if (isPlain(protocol) && isUnopened) throw refused("scheme", "The URL must start with https://.")
      checkHost(protocol, hostOf(url))
      return url
    },
    admits,
  }
}
