/** Whether a text is positive or negative. */
import { type areas, type Input, T } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { provided } from "../../kernel/offer.ts"
import { polarityOf } from "./engines/polarity.ts"
import { englishOnly, languageOf, mayBeEnglish } from "./languages.ts"
import type { AiTextNeeds } from "./needs.ts"
import { formOf, writeJson } from "./written.ts"

type Given = Input<typeof areas.aiText.specs.sentiment>

const ENGINE = "svc-sentiment-vader"
const ANSWER_TOKENS = 256

const JUDGED = formOf(
  "sentiment",
  T.Object({
    score: T.Number({ minimum: -1, maximum: 1 }),
    positive: T.Number({ minimum: 0, maximum: 1 }),
    neutral: T.Number({ minimum: 0, maximum: 1 }),
    negative: T.Number({ minimum: 0, maximum: 1 }),
  }),
)

const INSTRUCTION =
  "Judge the sentiment of the text: score from -1 (negative) to 1 (positive), and how much of it is positive, neutral and " +
  "negative, which together are 1."

export const createSentiment = ({ models: offered, engines }: AiTextNeeds) => {
  const judgeThere = async ({ text, model }: Given, language: string, call: Call) => {
    const models = await provided(offered)
    const asked = { model, instruction: INSTRUCTION, text, maxTokens: ANSWER_TOKENS }
    const { value, model: answeredBy } = await writeJson(models, call, asked, JUDGED)
    const { score, positive, neutral, negative } = value
    const sentiment = polarityOf(score)
    return {
      sentiment,
      score,
      confidence: sentiment === "neutral" ? neutral : Math.abs(score),
      scores: { positive, neutral, negative },
      sentences: [],
      language,
      model: answeredBy,
      method: "upstream" as const,
    }
  }

  return async (given: Given, call: Call) => {
    const models = await provided(offered)
    const { language } = await languageOf(engines, call, given)
    const { text, model } = given
    if (model !== undefined && model !== ENGINE) return judgeThere(given, language, call)
    if (!mayBeEnglish(language)) {
      if (model === ENGINE || !(await models.hasChat(call))) throw englishOnly("sentiment", language)
      return judgeThere(given, language, call)
    }
    await models.countEmbedded(call)
    const sentiment = await engines.run(call.organization.id, { kind: "sentiment", text })
    return { ...sentiment, language, model: ENGINE, method: "embedded" as const }
  }
}
