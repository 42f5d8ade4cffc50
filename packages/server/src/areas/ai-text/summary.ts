/** Summaries: sentences of the text, or what a chat model writes. */
import type { areas, Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { provided } from "../../kernel/offer.ts"
import type { AiTextNeeds } from "./needs.ts"
import { tokensFor, writeText } from "./written.ts"

type Given = Input<typeof areas.aiText.specs.summarize>

const ENGINE = "svc-summary-lexrank"
/** Asked of a model where the caller gives no bound. */
const SENTENCES_DEFAULT = 3

const instructionOf = ({ max_sentences, ratio, max_length, language }: Given): string => {
  const bounds = [
    max_sentences !== undefined && `at most ${max_sentences} sentences`,
    ratio !== undefined && `at most ${Math.max(1, Math.round(ratio * 100))}% of the text's length`,
    max_length !== undefined && `at most ${max_length} characters`,
  ].filter(bound => bound !== false)
  const bound = bounds.length > 0 ? bounds.join(", ") : `at most ${SENTENCES_DEFAULT} sentences`
  const inLanguage = language === undefined ? "the language of the text" : `the language ${language}`
  return `Summarize it in ${inLanguage}, with ${bound}. Add nothing that the text does not say. Answer with the summary alone.`
}

const compressionOf = (summary: string, text: string): number =>
  Math.round((summary.length / text.length) * 10_000) / 10_000

export const createSummary = ({ models: offered, engines }: AiTextNeeds) => {
  const write = async (given: Given, call: Call) => {
    const { text, model } = given
    const asked = { model, instruction: instructionOf(given), text, maxTokens: tokensFor(text.length) }
    const written = await writeText(await provided(offered), call, asked)
    return {
      summary: written.value,
      sentences: [],
      compression: compressionOf(written.value, text),
      technique: "abstractive" as const,
      model: written.model,
      method: "upstream" as const,
    }
  }

  return async (given: Given, call: Call) => {
    const models = await provided(offered)
    const { text, technique, model, max_sentences, ratio, max_length } = given
    const isOther = model !== undefined && model !== ENGINE
    if (technique === "extractive" && isOther)
      throw fault("invalid_parameter", { reason: `\`extractive\` is what ${ENGINE} does, not ${model}` })
    if (technique === "abstractive" && model === ENGINE)
      throw fault("invalid_parameter", { reason: `${ENGINE} takes sentences of the text, and writes none` })
    const isWritten =
      technique === "abstractive" ||
      isOther ||
      (technique === undefined && model === undefined && (await models.hasChat(call)))
    if (isWritten) return write(given, call)
    await models.countEmbedded(call)
    const limits = { sentencesMax: max_sentences, ratio, lengthMax: max_length }
    const made = await engines.run(call.organization.id, { kind: "summarize", text, limits })
    return {
      ...made,
      compression: compressionOf(made.summary, text),
      technique: "extractive" as const,
      model: ENGINE,
      method: "embedded" as const,
    }
  }
}
