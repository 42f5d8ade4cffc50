import type { Settings } from "../../kernel/setting.ts"
import { url } from "../../kernel/setting-parsers.ts"

export const settings = {
  kvUrl: {
    variable: "SVC_KV_URL",
    default: "LMDB in the data folder",
    description: "Address of a Valkey or Redis for the key-value store.",
    secret: true,
    parse: url("redis:", "rediss:", "unix:"),
  },
} as const satisfies Settings
