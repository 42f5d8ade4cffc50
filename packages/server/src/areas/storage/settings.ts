import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { domainName } from "../../kernel/setting-parsers.ts"

export const settings = {
  s3Domain: {
    variable: "SVC_S3_DOMAIN",
    default:
      "s3.localhost where SVC_BASE_URL is of localhost; else none, and buckets are named in paths alone",
    description:
      "Endpoint of S3 clients, whose names below it (`<bucket>.domain`) are buckets; it and all names below it must resolve to this server.",
    parse: domainName,
  },
} as const satisfies Settings

/** Endpoint of S3 clients whose names are buckets; undefined where no domain leads here. */
export const s3DomainOf = ({ s3Domain }: ValuesOf<typeof settings>, baseUrl: string): string | undefined =>
  s3Domain ?? (new URL(baseUrl).hostname === "localhost" ? "s3.localhost" : undefined)
