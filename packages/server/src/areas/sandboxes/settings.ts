import type { DeriveSecret } from "../../core/secrets/derive.ts"
import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { domainName, integer } from "../../kernel/setting-parsers.ts"
import { createPortUrls, type PortUrls } from "../../services/workloads/port-urls.ts"

export const settings = {
  sandboxPoolMax: {
    variable: "SVC_SANDBOX_POOL",
    otherwise: "8",
    meaning:
      "Sandboxes that may be kept started for the next who asks, of the shapes that were asked for lately; 0 for none.",
    parse: integer(0, 1_000, 8),
  },
  sandboxDomain: {
    variable: "SVC_SANDBOX_DOMAIN",
    otherwise:
      "sandboxes.localhost where SVC_BASE_URL is of localhost; else none, and sandboxes have no URLs",
    meaning:
      "Domain whose names (`*.domain`) all lead here and are the URLs of sandboxes' ports. Not one that the platform's own name is below, and best one of its own.",
    parse: domainName,
  },
} as const satisfies Settings

/** URLs of ports; undefined where no domain leads here. Names below `localhost` lead to whoever asks, as its own do. */
export const portUrlsOf = (
  { sandboxDomain }: ValuesOf<typeof settings>,
  { baseUrl, deriveSecret }: { readonly baseUrl: string; readonly deriveSecret: DeriveSecret },
): PortUrls | undefined => {
  const base = new URL(baseUrl)
  const domain = sandboxDomain ?? (base.hostname === "localhost" ? "sandboxes.localhost" : undefined)
  return domain === undefined ? undefined : createPortUrls({ base, domain, deriveSecret })
}
