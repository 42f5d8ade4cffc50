/** Mistakes in a text, by Harper or by a chat model. */
import type { areas, Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { provided } from "../../kernel/offer.ts"
import type { GrammarTask } from "./engines/tasks.ts"
import { baseOf, englishOnly, languageOf, mayBeEnglish } from "./languages.ts"
import type { AiTextNeeds } from "./needs.ts"
import { tokensFor, writeText } from "./written.ts"

type Given = Input<typeof areas.aiText.specs.grammar>

const ENGINE = "svc-grammar-harper"

const DIALECTS: ReadonlyMap<string, GrammarTask["dialect"]> = new Map([
  ["en-gb", "british"],
  ["en-ca", "canadian"],
  ["en-au", "australian"],
])

const notInstalled = () =>
  fault(
    "all_providers_exhausted",
    {
      reason:
        "the optional package harper.js is not installed; install it, or set SVC_AI_UPSTREAMS or SVC_AI_URL",
    },
    { headers: { "x-should-retry": "false" } },
  )

const INSTRUCTION =
  "Correct spelling and grammar, in the language of the text, and change nothing else. Answer with the corrected text alone."

export const createGrammar = ({ models: offered, engines }: AiTextNeeds) => {
  const correctThere = async ({ text, model }: Given, call: Call) => {
    const asked = { model, instruction: INSTRUCTION, text, maxTokens: tokensFor(text.length) }
    const written = await writeText(await provided(offered), call, asked)
    return { matches: [], corrected: written.value, model: written.model, method: "upstream" as const }
  }

  return async (given: Given, call: Call) => {
    const models = await provided(offered)
    const detectedLanguage = await languageOf(engines, call, given)
    const { text, language: said = detectedLanguage.language, model } = given
    const language = { code: said, detectedLanguage }
    if (model !== undefined && model !== ENGINE) return { ...(await correctThere(given, call)), language }
    if (!mayBeEnglish(baseOf(said))) {
      if (model === ENGINE || !(await models.hasChat(call))) throw englishOnly("grammar", baseOf(said))
      return { ...(await correctThere(given, call)), language }
    }
    await models.countEmbedded(call)
    const dialect = DIALECTS.get(said.toLowerCase()) ?? "american"
    const checked = await engines.checkGrammar(call.organization.id, { text, dialect })
    if (checked === undefined) throw notInstalled()
    return { ...checked, language, model: ENGINE, method: "embedded" as const }
  }
}
