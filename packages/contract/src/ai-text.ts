import { Model } from "./ai-fields.ts"
import { area, type OperationSpec, T } from "./dsl.ts"
import { OneOf } from "./types.ts"

/** Characters of a text. */
export const AI_TEXT_LENGTH_MAX = 100_000
export const AI_SUMMARY_SENTENCES_DEFAULT = 3

const FAULTS = [
  "invalid_parameter",
  "ai_request_refused",
  "ai_budget_exhausted",
  "model_not_found",
  "ai_daily_limit_exceeded",
  "all_providers_exhausted",
] as const

const METERS = ["ai_requests", "ai_input_tokens", "ai_output_tokens"] as const

const common = { scope: "ai:infer", effect: "read", faults: FAULTS, meters: METERS } as const

const Text = T.String({ minLength: 1, maxLength: AI_TEXT_LENGTH_MAX, description: "The text" })
const Language = T.String({
  pattern: "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
  description: "The text's language, as `en` or `pt-BR`; detected when left out",
})

const answered = {
  model: T.String({
    description: "What made the answer: an embedded engine (`svc-…`) or a model of an upstream",
  }),
  method: OneOf(["embedded", "local-model", "upstream"], { description: "Where it runs" }),
}

const ChatModel = T.Optional(Model)

const Polarity = OneOf(["positive", "neutral", "negative"], {
  description: "Positive from a score of 0.05, negative from -0.05",
})
const Share = T.Number({ minimum: 0, maximum: 1, description: "From 0 to 1" })
const Sentence = T.String({ description: "A sentence of the text" })
const Score = T.Number({ minimum: -1, maximum: 1, description: "From -1 (negative) to 1 (positive)" })

const sentiment = {
  id: "analyzeSentiment",
  http: "POST /v1/ai/text/sentiment",
  summary: "Tell whether a text is positive or negative",
  description:
    "English by VADER, an embedded engine of rules and a lexicon: `score` is the mean of the sentences' compound scores, " +
    "positive from 0.05, negative from -0.05. Other languages, and a `model` of an upstream, are answered by that model.",
  ...common,
  body: T.Object({ text: Text, language: T.Optional(Language), model: ChatModel }),
  replies: {
    200: T.Object({
      sentiment: Polarity,
      score: Score,
      confidence: T.Number({
        minimum: 0,
        maximum: 1,
        description:
          "How clear it is: the score's size, or how much of a neutral text is neutral. No probability",
      }),
      scores: T.Object(
        {
          positive: Share,
          neutral: Share,
          negative: Share,
        },
        { description: "Shares of the text; together 1" },
      ),
      sentences: T.Array(T.Object({ text: Sentence, sentiment: Polarity, score: Score }), {
        description: "Each sentence by itself; none from an upstream's model",
      }),
      language: T.String({ description: "As given or detected; `und` where it cannot be told" }),
      ...answered,
    }),
  },
  example: { text: "The support was great. The wait was terrible!" },
} as const satisfies OperationSpec

const summarize = {
  id: "summarizeText",
  http: "POST /v1/ai/text/summarize",
  summary: "Shorten a text to what matters",
  description:
    "`extractive` takes the sentences that are most like the others (LexRank), in any language, by an embedded engine. " +
    "`abstractive` is written by a chat model of an upstream, and is the default where there is one.",
  ...common,
  body: T.Object({
    text: Text,
    technique: T.Optional(
      OneOf(["extractive", "abstractive"], {
        description: "Default: `abstractive` where there is a chat model or one is named, else `extractive`",
      }),
    ),
    max_sentences: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: 100,
        description: `Most sentences. Default: ${AI_SUMMARY_SENTENCES_DEFAULT}, or as \`ratio\` and \`max_length\` allow`,
      }),
    ),
    ratio: T.Optional(
      T.Number({
        exclusiveMinimum: 0,
        maximum: 1,
        description: "Most of the text's sentences that stay, as a share",
      }),
    ),
    max_length: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: AI_TEXT_LENGTH_MAX,
        description:
          "Most UTF-16 units of an extractive summary; a longer first sentence stays. For models a wish",
      }),
    ),
    language: T.Optional(Language),
    model: ChatModel,
  }),
  replies: {
    200: T.Object({
      summary: T.String({ description: "The shorter text" }),
      sentences: T.Array(
        T.Object({
          text: Sentence,
          index: T.Integer({ description: "Which sentence of the text it is, from 0" }),
          score: T.Number({ description: "Its rank beside the others; all of a text sum up to 1" }),
        }),
        { description: "Those of an extractive summary, in the text's order" },
      ),
      compression: T.Number({ description: "Length of the summary as a share of the text's" }),
      technique: OneOf(["extractive", "abstractive"], {
        description: "Whether its sentences are the text's or a model's",
      }),
      ...answered,
    }),
  },
  example: {
    text: "Paris is the capital of France. It lies on the Seine. The Seine flows through Paris to the sea.",
    max_sentences: 1,
  },
} as const satisfies OperationSpec

export const aiText = area(
  "aiText",
  {
    title: "AI on texts",
    summary: "Sentiment, summaries, grammar, translation, completion and search of texts in the request",
    project: "optional",
    belongs: "project",
  },
  { sentiment, summarize },
)
