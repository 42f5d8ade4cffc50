import type { Settings } from "../../kernel/setting.ts"
import { url } from "../../kernel/setting-parsers.ts"

export const settings = {
  kvUrl: {
    variable: "SVC_KV_URL",
    otherwise: "LMDB in the data folder",
    meaning: "Key-value engine: a Valkey or Redis.",
    secret: true,
    parse: url("redis:", "rediss:", "unix:"),
  },
} as const satisfies Settings
