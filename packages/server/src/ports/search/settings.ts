import type { Settings } from "../../kernel/setting.ts"
import { optional, url } from "../../kernel/setting-parsers.ts"

/** Lower case, as OpenSearch wants it. */
export const indexName = (text = "svc-search"): string => {
  if (!/^[a-z0-9][a-z0-9_.-]{0,99}$/.test(text))
    throw new RangeError("must be lower-case letters, digits, _, . and -, at most 100")
  return text
}

export const settings = {
  opensearchUrl: {
    variable: "SVC_OPENSEARCH_URL",
    default: "none: the control database searches",
    description: "Address of an OpenSearch from version 2 for full-text search.",
    parse: url("http:", "https:"),
  },
  opensearchUser: {
    variable: "SVC_OPENSEARCH_USER",
    default: "none",
    description: "User of OpenSearch.",
    parse: optional,
  },
  opensearchPassword: {
    variable: "SVC_OPENSEARCH_PASSWORD",
    default: "none",
    description: "Its password.",
    secret: true,
    parse: optional,
  },
  opensearchIndex: {
    variable: "SVC_OPENSEARCH_INDEX",
    default: "svc-search",
    description: "Index in OpenSearch; it is created if it does not exist.",
    parse: indexName,
  },
} as const satisfies Settings
