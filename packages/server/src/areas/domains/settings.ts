import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { domainName } from "../../kernel/setting-parsers.ts"

export const settings = {
  domainsHost: {
    variable: "SVC_DOMAINS_HOST",
    default:
      "domains.localhost where SVC_BASE_URL is of localhost; else none, and custom domains are proven by TXT records alone",
    description:
      "Domain below which custom domains are pointed by CNAME: all names below it (`*.domain`) must resolve to this server.",
    parse: domainName,
  },
} as const satisfies Settings

/** What the CNAME records of custom domains point below; undefined where the operator has no such name. */
export const cnameHostOf = (
  { domainsHost }: Pick<ValuesOf<typeof settings>, "domainsHost">,
  baseUrl: string,
): string | undefined =>
  domainsHost ?? (new URL(baseUrl).hostname === "localhost" ? "domains.localhost" : undefined)
