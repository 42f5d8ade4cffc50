import type { DeriveSecret } from "../../core/secrets/derive.ts"
import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { domainName, integer } from "../../kernel/setting-parsers.ts"
import { createPortUrls, type PortUrls } from "./ports/urls.ts"

export const settings = {
  sandboxPoolMax: {
    variable: "SVC_SANDBOX_POOL",
    default: "8",
    description:
      "Largest number of sandboxes in the warm pool, started ahead in the sizes that were requested lately; 0 for none.",
    parse: integer(0, 1_000, 8),
  },
  sandboxDomain: {
    variable: "SVC_SANDBOX_DOMAIN",
    default: "sandboxes.localhost where SVC_BASE_URL is of localhost; else none, and sandboxes have no URLs",
    description:
      "Domain of the URLs of sandbox ports: all names below it (`*.domain`) must resolve to this server. It must not be a parent of SVC_BASE_URL, and should be a separate domain.",
    parse: domainName,
  },
} as const satisfies Settings

/** URLs of ports; undefined where no domain leads here. Browsers resolve names below `localhost` to their own machine, as they do `localhost`. */
export const portUrlsOf = (
  { sandboxDomain }: ValuesOf<typeof settings>,
  { baseUrl, deriveSecret }: { readonly baseUrl: string; readonly deriveSecret: DeriveSecret },
): PortUrls | undefined => {
  const base = new URL(baseUrl)
  const domain = sandboxDomain ?? (base.hostname === "localhost" ? "sandboxes.localhost" : undefined)
  return domain === undefined ? undefined : createPortUrls({ base, domain, deriveSecret })
}
