import type { Settings } from "../../kernel/setting.ts"
import { integer, optional, url } from "../../kernel/setting-parsers.ts"

export const settings = {
  vectorsMemoryMb: {
    variable: "SVC_VECTORS_MEMORY_MB",
    default: "1024",
    description: "Memory in MiB for vector indexes; the least recently used are evicted.",
    parse: integer(16, 4_194_304, 1024),
  },
  qdrantUrl: {
    variable: "SVC_QDRANT_URL",
    default: "none: vectors are searched in this process",
    description: "Address of a Qdrant for vector search; the vectors themselves are stored in the database.",
    parse: url("http:", "https:"),
  },
  qdrantKey: {
    variable: "SVC_QDRANT_KEY",
    default: "none",
    description: "API key of that Qdrant.",
    secret: true,
    parse: optional,
  },
} as const satisfies Settings
