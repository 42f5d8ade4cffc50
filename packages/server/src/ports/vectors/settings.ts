import type { Settings } from "../../kernel/setting.ts"
import { integer, optional, url } from "../../kernel/setting-parsers.ts"

export const settings = {
  vectorsMemoryMb: {
    variable: "SVC_VECTORS_MEMORY_MB",
    otherwise: "1024",
    meaning: "Memory for the vector collections in use; those not searched for longest make room.",
    parse: integer(16, 4_194_304, 1024),
  },
  qdrantUrl: {
    variable: "SVC_QDRANT_URL",
    otherwise: "none: vectors are searched in this process",
    meaning: "A Qdrant to search vectors in; the vectors themselves stay in the database.",
    parse: url("http:", "https:"),
  },
  qdrantKey: {
    variable: "SVC_QDRANT_KEY",
    otherwise: "none",
    meaning: "API key of that Qdrant.",
    secret: true,
    parse: optional,
  },
} as const satisfies Settings
