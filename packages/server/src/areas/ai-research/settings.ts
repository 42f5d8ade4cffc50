import type { Settings } from "../../kernel/setting.ts"
import { url } from "../../kernel/setting-parsers.ts"

export const settings = {
  searxngUrl: {
    variable: "SVC_SEARXNG_URL",
    default: "none",
    description:
      "A SearXNG server that research searches the web with; its `settings.yml` must have `json` among `search.formats`. It may be on this machine.",
    parse: url("http:", "https:"),
  },
} as const satisfies Settings
