import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { Engines } from "./engines.ts"

/** `pt` of `pt-BR`, in lower case. */
export const baseOf = (language: string): string => language.toLowerCase().split("-")[0] ?? ""

/** As the caller says, else as the text looks. */
export const languageOf = async (
  engines: Engines,
  call: Call,
  { text, language }: { readonly text: string; readonly language?: string | undefined },
) =>
  language === undefined
    ? engines.run(call.organization.id, { kind: "detect", text })
    : { language: baseOf(language), confidence: 1 }

/** A language that cannot be told is most often that of a text too short for it. */
export const mayBeEnglish = (language: string): boolean => language === "en" || language === "und"

export const englishOnly = (what: string, language: string) =>
  fault(
    "all_providers_exhausted",
    {
      reason: `the embedded engine for ${what} knows English, the text's language is ${language}; give \`language\` if it is not, or set SVC_AI_UPSTREAMS or SVC_AI_URL to a server with a chat model`,
    },
    { headers: { "x-should-retry": "false" } },
  )
