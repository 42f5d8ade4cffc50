/** Translations by a chat model; what is in the target language already needs none. */
import type { areas, Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { provided } from "../../kernel/offer.ts"
import { languageOf } from "./languages.ts"
import type { AiTextNeeds } from "./needs.ts"
import { tokensFor, writeText } from "./written.ts"

type Given = Input<typeof areas.aiText.specs.translate>

const ENGINE = "svc-translate-identity"
/** A translation may be longer than its source. */
const LONGER = 2

const instructionOf = (target: string, source: string): string => {
  const from = source === "und" ? "" : ` from the language ${source}`
  return `Translate it${from} into the language ${target}. Answer with the translation alone.`
}

export const createTranslation =
  ({ models: offered, engines }: AiTextNeeds) =>
  async ({ text, target, source, model }: Given, call: Call) => {
    const models = await provided(offered)
    const language = source === "auto" ? undefined : source
    const detectedLanguage = await languageOf(engines, call, { text, language })
    // A text detected as `pt` counts as `pt-BR`: detection does not tell variants apart.
    const from = (language ?? detectedLanguage.language).toLowerCase()
    const into = target.toLowerCase()
    if (model === undefined && (from === into || (language === undefined && into.startsWith(`${from}-`)))) {
      await models.countEmbedded(call)
      return {
        translation: text,
        translatedText: text,
        detectedLanguage,
        model: ENGINE,
        method: "embedded" as const,
      }
    }
    const instruction = instructionOf(target, language ?? detectedLanguage.language)
    const asked = { model, instruction, text, maxTokens: tokensFor(text.length * LONGER) }
    const { value, model: answeredBy } = await writeText(models, call, asked)
    return {
      translation: value,
      translatedText: value,
      detectedLanguage,
      model: answeredBy,
      method: "upstream" as const,
    }
  }
