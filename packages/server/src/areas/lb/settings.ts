import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { domainName } from "../../kernel/setting-parsers.ts"

export interface PortRange {
  readonly first: number
  readonly last: number
}

const RANGE = /^(\d{1,5})(?:-(\d{1,5}))?$/

const portRange = (text: string | undefined): PortRange | undefined => {
  if (text === undefined) return undefined
  const [, from, to = from] = RANGE.exec(text) ?? []
  const [first, last] = [Number(from), Number(to)]
  if (!(first >= 1 && last >= first && last <= 65_535))
    throw new RangeError("must be a range, such as 8100-8199")
  return { first, last }
}

export const settings = {
  lbDomain: {
    variable: "SVC_LB_DOMAIN",
    default: "lb.localhost where SVC_BASE_URL is of localhost; else none, and load balancers have no URLs",
    description:
      "Domain of the URLs of load balancers: all names below it (`*.domain`) must resolve to this server. It must not be a parent of SVC_BASE_URL, and should be a separate domain.",
    parse: domainName,
  },
  lbPorts: {
    variable: "SVC_LB_PORTS",
    default: "none",
    description: "Range of the ports that load balancers may have for themselves, such as `8100-8199`.",
    parse: portRange,
  },
} as const satisfies Settings

export interface LbUrls {
  readonly scheme: "http" | "https"
  of(name: string, hostId: string): string
  /** Whether a host name, with or without a port, is one of the domain. */
  claims(host: string | undefined): boolean
  /** The id in a host name of the domain. */
  read(host: string): string | undefined
}

const LABEL = /^[a-z0-9-]{1,40}-([0-9a-f]{12})$/

/** URLs of load balancers; undefined where no domain leads here. */
export const lbUrlsOf = ({ lbDomain }: ValuesOf<typeof settings>, baseUrl: string): LbUrls | undefined => {
  const base = new URL(baseUrl)
  const domain = lbDomain ?? (base.hostname === "localhost" ? "lb.localhost" : undefined)
  if (domain === undefined) return undefined
  const ending = `.${domain}`
  const nameOf = (host: string) => host.toLowerCase().replace(/:\d+$/, "")
  const scheme = base.protocol === "https:" ? "https" : "http"
  return {
    scheme,
    of: (name, hostId) => `${scheme}://${name}-${hostId}${ending}${base.port === "" ? "" : `:${base.port}`}`,
    claims: host => host !== undefined && host.length > ending.length && nameOf(host).endsWith(ending),
    read: host => LABEL.exec(nameOf(host).slice(0, -ending.length))?.[1],
  }
}
