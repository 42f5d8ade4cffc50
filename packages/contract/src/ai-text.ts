import { INFERENCE_FAULTS, INFERENCE_METERS, Model } from "./ai-fields.ts"
import { area, type OperationSpec, T } from "./dsl.ts"
import { OneOf } from "./types.ts"

/** Characters of a text. */
export const AI_TEXT_LENGTH_MAX = 100_000
export const AI_SUMMARY_SENTENCES_DEFAULT = 3
/** Characters of a text whose grammar is checked. */
export const AI_GRAMMAR_LENGTH_MAX = 20_000
export const AI_TEXT_TOP_K_DEFAULT = 5
/** Suggestions of how a text goes on. */
export const AI_SUGGESTIONS_DEFAULT = 5
/** Words of a suggestion. */
export const AI_SUGGESTION_TOKENS_DEFAULT = 8

const common = {
  scope: "ai:infer",
  effect: "read",
  faults: INFERENCE_FAULTS,
  meters: INFERENCE_METERS,
} as const

const Text = T.String({ minLength: 1, maxLength: AI_TEXT_LENGTH_MAX, description: "The text" })
const LANGUAGE = "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
const Language = T.String({
  pattern: LANGUAGE,
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

const Detected = T.Object(
  {
    language: T.String({ description: "Two letters of ISO 639-1; `und` where it cannot be told" }),
    confidence: T.Number({ minimum: 0, maximum: 1, description: "From 0 to 1; 1 where the caller gives it" }),
  },
  { description: "What the text's language was taken for" },
)

const Offset = T.Integer({ description: "Where it begins, in UTF-16 units" })
const Length = T.Integer({ description: "In UTF-16 units" })

const Match = T.Object({
  message: T.String({ description: "What is wrong, in a sentence" }),
  shortMessage: T.String({ description: "What is wrong, in a word or two" }),
  offset: Offset,
  length: Length,
  replacements: T.Array(T.Object({ value: T.String({ description: "What may stand there instead" }) }), {
    description: "The likeliest first",
  }),
  context: T.Object(
    { text: T.String({ description: "The place with what is around it" }), offset: Offset, length: Length },
    { description: "For display" },
  ),
  sentence: Sentence,
  rule: T.Object(
    {
      id: T.String({ description: "The rule's name" }),
      description: T.String({ description: "What the rule is about" }),
      issueType: T.String({
        description: "`misspelling`, `grammar`, `typographical`, `style`, `duplication` …",
      }),
      category: T.Object(
        { id: T.String({ description: "Name of the kind" }), name: T.String({ description: "For people" }) },
        { description: "The kind of rule" },
      ),
    },
    { description: "Why it is wrong" },
  ),
})

const grammar = {
  id: "checkGrammar",
  http: "POST /v1/ai/text/grammar",
  summary: "Find mistakes in a text",
  description:
    "English by Harper, an embedded engine; the reply's names are LanguageTool's, its offsets UTF-16 units. Other languages, " +
    "and a `model` of an upstream, are corrected by that model, whose reply has `corrected` and no matches.",
  ...common,
  body: T.Object({
    text: T.String({
      minLength: 1,
      maxLength: AI_GRAMMAR_LENGTH_MAX,
      description: `The text, at most ${AI_GRAMMAR_LENGTH_MAX} characters`,
    }),
    language: T.Optional(Language),
    model: ChatModel,
  }),
  replies: {
    200: T.Object({
      matches: T.Array(Match, { description: "The mistakes, in the text's order; none overlaps another" }),
      language: T.Object(
        { code: T.String({ description: "As given or detected" }), detectedLanguage: Detected },
        { description: "The text's language" },
      ),
      corrected: T.String({ description: "The text with the first replacement of each match" }),
      ...answered,
    }),
  },
  example: { text: "She have a apple.", language: "en-US" },
} as const satisfies OperationSpec

const translate = {
  id: "translateText",
  http: "POST /v1/ai/text/translate",
  summary: "Translate a text",
  description:
    "By a chat model of an upstream. A text that is in the target language already comes back as it is, without one. " +
    "LibreTranslate's names are taken as well: `q`, `source`, `target`.",
  ...common,
  body: T.Object({
    text: Text,
    target: T.String({ pattern: LANGUAGE, description: "The language to translate into, as `de`" }),
    source: T.Optional(
      T.String({
        pattern: `^auto$|${LANGUAGE}`,
        description: "The text's language; `auto` (default) detects it",
      }),
    ),
    model: ChatModel,
  }),
  aliases: { q: "text", target_language: "target", source_language: "source" },
  replies: {
    200: T.Object({
      translation: T.String({ description: "The text in the target language" }),
      translatedText: T.String({ description: "The same, under LibreTranslate's name" }),
      detectedLanguage: Detected,
      ...answered,
    }),
  },
  example: { text: "Good morning.", source: "en", target: "en" },
} as const satisfies OperationSpec

const Passage = T.String({ minLength: 1, maxLength: AI_TEXT_LENGTH_MAX, description: "A passage" })

const vectorSearch = {
  id: "textVectorSearch",
  http: "POST /v1/ai/text/vector-search",
  summary: "Find the passages of a request that are most like its query",
  description:
    "By the embedded lexical vectors (cosine) and by BM25, fused by reciprocal rank (k = 60). They compare words and parts of " +
    "words, not meaning. Nothing is stored.",
  ...common,
  faults: ["invalid_parameter", "ai_daily_limit_exceeded"],
  body: T.Object({
    query: T.String({ minLength: 1, maxLength: 4_000, description: "What is looked for" }),
    documents: T.Array(
      T.Union([
        Passage,
        T.Object({
          id: T.String({ maxLength: 200, description: "Comes back with the result" }),
          text: Passage,
        }),
      ]),
      { minItems: 1, maxItems: 1_000, description: "The passages, as texts or with ids" },
    ),
    top_k: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: 1_000,
        description: `Most results. Default: ${AI_TEXT_TOP_K_DEFAULT}`,
      }),
    ),
  }),
  replies: {
    200: T.Object({
      results: T.Array(
        T.Object({
          index: T.Integer({ description: "Which of `documents` it is, from 0" }),
          id: T.Union([T.String(), T.Null()], { description: "As given; null where none was" }),
          score: T.Number({ description: "Cosine of query and passage, from -1 to 1" }),
          scores: T.Object(
            {
              vector: T.Number({ description: "The cosine" }),
              bm25: T.Number({ description: "By words in common" }),
              rrf: T.Number({ description: "Both ranks fused; the results' order" }),
            },
            { description: "What the order comes from" },
          ),
          text: T.String({ description: "The passage" }),
        }),
        { description: "The best first; those that share nothing with the query are left out" },
      ),
      ...answered,
    }),
  },
  example: { query: "red apples", documents: ["An apple is red.", "The sea is blue."], top_k: 1 },
} as const satisfies OperationSpec

const autocomplete = {
  id: "autocompleteText",
  http: "POST /v1/ai/text/autocomplete",
  summary: "Suggest how an unfinished text goes on",
  description:
    "Without a chat model by n-grams: what follows the text's last words in the text itself, in the texts of `corpus`, and in a " +
    "built-in model of English. Texts of other languages go on as they and `corpus` do. A chat model is the default where there is one.",
  ...common,
  body: T.Object({
    text: T.String({
      minLength: 1,
      maxLength: AI_TEXT_LENGTH_MAX,
      description: "The text so far; its last word may be unfinished",
    }),
    corpus: T.Optional(
      T.Array(Text, {
        maxItems: 100,
        description: "Other texts by the same hand or on the same subject, to complete after. Not stored",
      }),
    ),
    max_suggestions: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: 20,
        description: `Most suggestions. Default: ${AI_SUGGESTIONS_DEFAULT}`,
      }),
    ),
    max_tokens: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: 64,
        description: `Most words of a suggestion; for models a wish. Default: ${AI_SUGGESTION_TOKENS_DEFAULT}`,
      }),
    ),
    language: T.Optional(Language),
    model: ChatModel,
  }),
  replies: {
    200: T.Object({
      suggestions: T.Array(
        T.Object({
          text: T.String({ description: "To be appended to the text as it is, its leading space included" }),
          score: T.Number({
            minimum: 0,
            maximum: 1,
            description:
              "How likely its first word is by the n-grams; from a chat model, which tells none, 1 divided by the rank",
          }),
        }),
        { description: "The likeliest first; none where nothing is known about the last words" },
      ),
      ...answered,
    }),
  },
  example: { text: "Thank you for your kind words. I look forward to the con", max_suggestions: 3 },
} as const satisfies OperationSpec

export const aiText = area(
  "aiText",
  {
    title: "AI on texts",
    summary: "Sentiment, summaries, grammar, translation, completion and search of texts in the request",
    project: "optional",
    belongs: "project",
  },
  { autocomplete, grammar, sentiment, summarize, translate, vectorSearch },
)
