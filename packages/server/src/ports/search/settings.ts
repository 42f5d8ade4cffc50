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
    otherwise: "none: the control database searches",
    meaning: "Search engine: an OpenSearch from version 2.",
    parse: url("http:", "https:"),
  },
  opensearchUser: {
    variable: "SVC_OPENSEARCH_USER",
    otherwise: "none",
    meaning: "User of OpenSearch.",
    parse: optional,
  },
  opensearchPassword: {
    variable: "SVC_OPENSEARCH_PASSWORD",
    otherwise: "none",
    meaning: "Its password.",
    secret: true,
    parse: optional,
  },
  opensearchIndex: {
    variable: "SVC_OPENSEARCH_INDEX",
    otherwise: "svc-search",
    meaning: "Index in OpenSearch; it is made when it is not there.",
    parse: indexName,
  },
} as const satisfies Settings
