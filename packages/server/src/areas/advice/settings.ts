import { upstreamSettings } from "../../core/ai/settings.ts"
import type { Settings } from "../../kernel/setting.ts"
import { integer } from "../../kernel/setting-parsers.ts"

export const settings = {
  textToSqlMs: {
    variable: "SVC_TEXT_TO_SQL_MS",
    default: "200",
    description:
      "Longest time, in milliseconds, to turn a question into a statement without a language model; questions that take longer are rejected.",
    parse: integer(10, 60_000, 200),
  },
  ...upstreamSettings,
} as const satisfies Settings
