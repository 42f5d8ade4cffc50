/** How an unfinished text may go on: by n-grams, or as a chat model writes. */
import {
  AI_SUGGESTION_TOKENS_DEFAULT,
  AI_SUGGESTIONS_DEFAULT,
  type areas,
  type Input,
  T,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { provided } from "../../kernel/offer.ts"
import { languageOf, mayBeEnglish } from "./languages.ts"
import type { AiTextNeeds } from "./needs.ts"
import { formOf, tokensFor, writeJson } from "./written.ts"

type Given = Input<typeof areas.aiText.specs.autocomplete>

const ENGINE = "svc-autocomplete-ngram"
/** How much of the text and of the corpus a model is shown, in UTF-16 units. */
const TEXT_SHOWN = 4_000
const CORPUS_SHOWN = 8_000
/** Tokens of a suggestion's word, with some room. */
const TOKENS_A_WORD = 6
const SUGGESTION_UNITS_MAX = 1_000

const FORM = formOf("suggestions", T.Object({ suggestions: T.Array(T.String()) }))

const instructionOf = (suggestions: number, words: number, corpus: string): string =>
  `The message is an unfinished text. Suggest ${suggestions} different ways in which it goes on, the likeliest first, each of at ` +
  `most ${words} words. A suggestion is appended to the text as it is: do not repeat what is there, finish a word that is ` +
  "unfinished, and begin with a space where one is needed." +
  (corpus === "" ? "" : ` Write as these texts do: ${JSON.stringify(corpus)}`)

/** Models like to begin with what is there already. */
const appendable = (text: string, suggestion: string): string => {
  const line = suggestion.slice(0, text.length + SUGGESTION_UNITS_MAX)
  if (line.startsWith(text)) return line.slice(text.length)
  return /\s$/.test(text) ? line.trimStart() : line
}

export const createAutocomplete = ({ models: offered, engines }: AiTextNeeds) => {
  const write = async (given: Given, call: Call, suggestionsMax: number, wordsMax: number) => {
    const { model, corpus = [] } = given
    const text = given.text.slice(-TEXT_SHOWN)
    const instruction = instructionOf(suggestionsMax, wordsMax, corpus.join("\n").slice(0, CORPUS_SHOWN))
    const maxTokens = tokensFor(suggestionsMax * wordsMax * TOKENS_A_WORD)
    const asked = { model, instruction, text, maxTokens }
    const written = await writeJson(await provided(offered), call, asked, FORM)
    const texts = written.value.suggestions.map(suggestion => appendable(text, suggestion))
    const suggestions = [...new Set(texts)]
      .filter(suggestion => suggestion.trim() !== "")
      .slice(0, suggestionsMax)
      .map((suggestion, at) => ({ text: suggestion, score: 1 / (at + 1) }))
    return { suggestions, model: written.model, method: "upstream" as const }
  }

  return async (given: Given, call: Call) => {
    const models = await provided(offered)
    const { text, corpus = [], language, model } = given
    const suggestionsMax = given.max_suggestions ?? AI_SUGGESTIONS_DEFAULT
    const wordsMax = given.max_tokens ?? AI_SUGGESTION_TOKENS_DEFAULT
    const isWritten = model === undefined ? await models.hasChat(call) : model !== ENGINE
    if (isWritten) return write(given, call, suggestionsMax, wordsMax)
    await models.countEmbedded(call)
    const detected = await languageOf(engines, call, { text, language })
    const isEnglish = mayBeEnglish(detected.language)
    const task = { kind: "complete" as const, text, corpus, isEnglish, suggestionsMax, wordsMax }
    const suggestions = await engines.run(call.organization.id, task)
    return { suggestions, model: ENGINE, method: "embedded" as const }
  }
}
