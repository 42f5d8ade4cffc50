import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { domainName } from "../../kernel/setting-parsers.ts"
import { createServiceUrls, type ServiceUrls } from "../../services/serving/urls.ts"

export const settings = {
  runDomain: {
    variable: "SVC_RUN_DOMAIN",
    default:
      "run.localhost where SVC_BASE_URL is of localhost; else none, and no run service can be deployed",
    description:
      "Domain of the URLs of run services: all names below it (`*.domain`) must resolve to this server. It must not be a parent of SVC_BASE_URL, and should be a separate domain.",
    parse: domainName,
  },
} as const satisfies Settings

/** URLs of services; undefined where no domain leads here. Browsers resolve names below `localhost` to their own machine, as they do `localhost`. */
export const serviceUrlsOf = (
  { runDomain }: ValuesOf<typeof settings>,
  baseUrl: string,
): ServiceUrls | undefined => {
  const base = new URL(baseUrl)
  const domain = runDomain ?? (base.hostname === "localhost" ? "run.localhost" : undefined)
  return domain === undefined ? undefined : createServiceUrls(base, domain)
}
