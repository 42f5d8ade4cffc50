import { upstreamSettings } from "../../core/ai/settings.ts"
import type { Settings } from "../../kernel/setting.ts"

export const settings = {
  ...upstreamSettings,
  aiUnknownPrice: {
    variable: "SVC_AI_UNKNOWN_PRICE",
    default: "3000000",
    description:
      "What a million tokens of a model of the installation cost whose price is not given, in millionths of a US dollar; 0 for servers that cost nothing.",
    parse: (text = "3000000") => {
      if (!/^\d{1,12}$/.test(text)) throw new RangeError("must be a whole number")
      return Number(text)
    },
  },
} as const satisfies Settings
