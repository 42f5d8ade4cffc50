import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { domainName } from "../../kernel/setting-parsers.ts"
import { createServiceUrls, type ServiceUrls } from "../../services/serving/urls.ts"

export const settings = {
  deploymentsDomain: {
    variable: "SVC_DEPLOYMENTS_DOMAIN",
    default: "deploy.localhost where SVC_BASE_URL is of localhost; else none, and deployments have no URLs",
    description:
      "Domain of the URLs of deployments: all names below it (`*.domain`) must resolve to this server. It must not be a parent of SVC_BASE_URL, and should be a separate domain.",
    parse: domainName,
  },
} as const satisfies Settings

/** URLs of deployments; undefined where no domain leads here. Browsers resolve names below `localhost` to their own machine, as they do `localhost`. */
export const deploymentUrlsOf = (
  { deploymentsDomain }: ValuesOf<typeof settings>,
  baseUrl: string,
): ServiceUrls | undefined => {
  const base = new URL(baseUrl)
  const domain = deploymentsDomain ?? (base.hostname === "localhost" ? "deploy.localhost" : undefined)
  return domain === undefined ? undefined : createServiceUrls(base, domain)
}
