/** Shapes of the AI gateway. Those of OpenAI's API are open: fields that are not listed are forwarded as they are. */
import { T, type TObject } from "./dsl.ts"
import { planNames } from "./plans.ts"
import { Id, Nullable, OneOf, Time } from "./types.ts"

export const AI_KINDS = ["chat", "embedding", "image", "speech", "transcription"] as const
export type AiKind = (typeof AI_KINDS)[number]

/** How every kind of inference can be refused. */
export const INFERENCE_FAULTS = [
  "invalid_parameter",
  "ai_request_refused",
  "ai_budget_exhausted",
  "credits_exhausted",
  "spending_cap_reached",
  "model_not_found",
  "ai_daily_limit_exceeded",
  "all_providers_exhausted",
] as const

export const INFERENCE_METERS = ["ai_requests", "ai_input_tokens", "ai_output_tokens"] as const

/** The id that stands for the first chat model. */
export const AI_DEFAULT_MODEL = "svc-default"
/** The embedded lexical engine's default number of dimensions. */
export const AI_EMBEDDING_DIMENSIONS_DEFAULT = 384
export const AI_EMBEDDING_DIMENSIONS_MAX = 4096
export const AI_EMBEDDING_INPUTS_MAX = 2048
/** Upstreams of one organization. */
export const AI_UPSTREAMS_MAX = 50
/** Bytes of an audio file that is transcribed; OpenAI's limit. */
export const AI_AUDIO_BYTES_MAX = 25 * 1024 * 1024

const open = { additionalProperties: true } as const

export const Model = T.String({
  minLength: 1,
  maxLength: 200,
  description: `A model's id, or \`upstream/id\` for that of one upstream; \`${AI_DEFAULT_MODEL}\` is the first chat model`,
})

const Message = T.Object(
  {
    role: T.String({ description: "`system`, `developer`, `user`, `assistant` or `tool`" }),
    content: T.Optional(T.Unknown({ description: "A text, or a list of parts: text, images, audio, files" })),
  },
  open,
)

const chatFields = {
  model: T.Optional(Model),
  messages: T.Array(Message, {
    minItems: 1,
    maxItems: 10_000,
    description: "The conversation so far, the oldest message first",
  }),
  models: T.Optional(
    T.Array(Model, { maxItems: 10, description: "Models to try in order when the first cannot answer" }),
  ),
  max_tokens: T.Optional(
    Nullable(T.Integer({ minimum: 1 }), { description: "Most tokens of the answer; the older name" }),
  ),
  max_completion_tokens: T.Optional(
    Nullable(T.Integer({ minimum: 1 }), { description: "Most tokens of the answer, reasoning included" }),
  ),
  n: T.Optional(
    Nullable(T.Integer({ minimum: 1, maximum: 128 }), { description: "Number of answers. Default: 1" }),
  ),
  stream: T.Optional(
    Nullable(T.Boolean(), { description: "Whether the reply is a stream of events. Default: false" }),
  ),
  stream_options: T.Optional(
    Nullable(
      T.Object(
        {
          include_usage: T.Optional(
            T.Boolean({ description: "Whether the last chunk tells the tokens used. Default: false" }),
          ),
        },
        open,
      ),
      { description: "Only for streams" },
    ),
  ),
}

export const ChatCompletionRequest: TObject<typeof chatFields> = T.Object(chatFields, open)

const ObjectName = T.String({ description: "The type of the object, as OpenAI names it" })
const AnsweredBy = T.String({ description: "The model that answered, as the upstream names it" })

export const ChatCompletion = T.Object(
  {
    object: T.Optional(ObjectName),
    model: T.Optional(AnsweredBy),
    choices: T.Array(T.Unknown(), { description: "The answers, each with `message` and `finish_reason`" }),
  },
  open,
)

export const EmbeddingRequest = T.Object(
  {
    model: T.Optional(Model),
    input: T.Union([T.String(), T.Array(T.Unknown(), { minItems: 1, maxItems: AI_EMBEDDING_INPUTS_MAX })], {
      description: "A text, a list of texts, or lists of token numbers where an upstream takes them",
    }),
    dimensions: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: AI_EMBEDDING_DIMENSIONS_MAX,
        description: `Length of the vectors. Default: the model's own, or ${AI_EMBEDDING_DIMENSIONS_DEFAULT}`,
      }),
    ),
    encoding_format: T.Optional(
      OneOf(["float", "base64"], {
        description: "Numbers, or the bytes of little-endian 32-bit floats in base64. Default: `float`",
      }),
    ),
  },
  open,
)

export const Embeddings = T.Object(
  {
    object: T.Optional(ObjectName),
    data: T.Array(T.Unknown(), { description: "A vector for each input, with its `index`" }),
    model: T.Optional(AnsweredBy),
  },
  open,
)

export const ImageRequest = T.Object(
  {
    model: T.Optional(Model),
    prompt: T.String({ minLength: 1, maxLength: 32_000, description: "What the image shows" }),
    n: T.Optional(
      Nullable(T.Integer({ minimum: 1, maximum: 10 }), { description: "Number of images. Default: 1" }),
    ),
  },
  open,
)

export const Images = T.Object(
  { data: T.Array(T.Unknown(), { description: "The images, each with `b64_json` or `url`" }) },
  open,
)

export const SpeechRequest = T.Object(
  {
    model: T.Optional(Model),
    input: T.String({ minLength: 1, maxLength: 4096, description: "The text that is read aloud" }),
    voice: T.Optional(
      T.Unknown({
        description:
          "The name of a voice. `svc-espeak` has OpenAI's names, and languages with or without a variant, as in `en-gb+f3`",
      }),
    ),
    response_format: T.Optional(
      T.String({
        maxLength: 20,
        description: "`mp3` (default), `opus`, `aac`, `flac`, `wav` or `pcm` (24 kHz, 16 bit, one channel)",
      }),
    ),
    speed: T.Optional(
      T.Number({ minimum: 0.25, maximum: 4, description: "1 is the voice's own. Default: 1" }),
    ),
  },
  open,
)

const price = (what: string) =>
  T.Optional(
    T.Integer({
      minimum: 0,
      maximum: 1_000_000_000_000,
      description: `Price of ${what} in millionths of a US dollar; 0 is free, none is unknown`,
    }),
  )

export const AiPrices = T.Object(
  {
    input_micros_per_mtok: price("a million tokens of the request"),
    output_micros_per_mtok: price("a million tokens of the answer"),
    image_micros: price("an image"),
    speech_micros_per_mchar: price("a million characters read aloud"),
    transcription_micros_per_minute: price("a minute of audio"),
  },
  {
    description:
      "Prices; without them the installation's guess counts, or nothing for upstreams of an organization",
  },
)

const Kinds = T.Array(OneOf(AI_KINDS), {
  minItems: 1,
  uniqueItems: true,
  description: "What the model does. Default: what its id suggests, else `chat`",
})

export const AiModelRecord = T.Object({
  id: T.String({ minLength: 1, maxLength: 200, description: "As the upstream names the model" }),
  kinds: T.Optional(Kinds),
  context_length: T.Optional(
    T.Integer({ minimum: 1, description: "Most tokens of request and answer together" }),
  ),
  max_output_tokens: T.Optional(T.Integer({ minimum: 1, description: "Most tokens of an answer" })),
  prices: T.Optional(AiPrices),
  min_plan: T.Optional(
    OneOf(planNames, { description: "The smallest plan that may call it. Default: `free`" }),
  ),
})

const BASE_URL = "Up to and including the version: `https://api.openai.com/v1`"
const PRIORITY = "0 is tried first. Default: 0"
const WEIGHT = "Share of the requests among upstreams of one priority. Default: 1"
const ENABLED = "Whether requests go there. Default: true"
const MODELS = "Models that it serves; an id alone is a model without known price"

export const upstreamFields = {
  name: T.String({
    pattern: "^[a-z0-9][a-z0-9._-]{0,62}$",
    description: "Stands in `x-svc-provider` and before `/` in model ids",
  }),
  base_url: T.String({ minLength: 1, maxLength: 2048, description: BASE_URL }),
  api_key: T.Optional(
    Nullable(T.String({ maxLength: 4096 }), {
      description: "Sent as a bearer key; stored encrypted and never shown. Null: none",
    }),
  ),
  models: T.Array(T.Union([T.String({ minLength: 1, maxLength: 200 }), AiModelRecord]), {
    minItems: 1,
    maxItems: 500,
    description: MODELS,
  }),
  priority: T.Optional(T.Integer({ minimum: 0, maximum: 1000, default: 0, description: PRIORITY })),
  weight: T.Optional(T.Integer({ minimum: 1, maximum: 1000, default: 1, description: WEIGHT })),
  enabled: T.Optional(T.Boolean({ default: true, description: ENABLED })),
}

/** All optional, and without defaults: what is left out stays. */
export const upstreamChanges = {
  name: T.Optional(upstreamFields.name),
  base_url: T.Optional(upstreamFields.base_url),
  api_key: upstreamFields.api_key,
  models: T.Optional(upstreamFields.models),
  priority: T.Optional(T.Integer({ minimum: 0, maximum: 1000, description: PRIORITY })),
  weight: T.Optional(T.Integer({ minimum: 1, maximum: 1000, description: WEIGHT })),
  enabled: T.Optional(T.Boolean({ description: ENABLED })),
}

export const AiUpstreamPayload = T.Object({
  id: Id,
  name: T.String(),
  base_url: T.String({ description: BASE_URL }),
  api_key_hint: Nullable(T.String(), {
    description: "The last four characters of the key; null where there is none",
  }),
  models: T.Array(T.Object({ ...AiModelRecord.properties, kinds: Kinds }), { description: MODELS }),
  priority: T.Integer({ description: PRIORITY }),
  weight: T.Integer({ description: WEIGHT }),
  enabled: T.Boolean({ description: ENABLED }),
  created_at: Time,
  updated_at: Time,
})

export const AiModelPayload = T.Object({
  id: T.String(),
  object: OneOf(["model"], { description: "As OpenAI names it" }),
  created: T.Integer({ description: "Unix time of the answer in seconds: upstreams do not tell another" }),
  owned_by: T.String({ description: "The upstream that is tried first, or `svc` for what is built in" }),
  capabilities: T.Array(OneOf(AI_KINDS), { description: "What the model does" }),
  context_length: Nullable(T.Integer(), {
    description: "Most tokens of request and answer together; null where it is not known",
  }),
  max_output_tokens: Nullable(T.Integer(), {
    description: "Most tokens of an answer; null where it is not known",
  }),
  pricing: Nullable(
    T.Object({
      prompt: T.String({ description: "US dollars for a token of the request" }),
      completion: T.String({ description: "US dollars for a token of the answer" }),
      image: T.Optional(T.String({ description: "US dollars for an image" })),
    }),
    { description: "Null where no price is known" },
  ),
  min_plan: OneOf(planNames, { description: "The smallest plan that may call it" }),
  available: T.Boolean({ description: "False while all upstreams of it are excluded after failures" }),
  method: OneOf(["embedded", "local-model", "upstream"], { description: "Where the model runs" }),
  upstreams: T.Array(T.String(), { description: "Names of the upstreams that serve it" }),
})

const LIMIT = "Most that AI requests of a month may cost, in millionths of a US dollar; null is no limit"

export const MonthlyLimit = Nullable(T.Integer({ minimum: 0, maximum: 1_000_000_000_000 }), {
  description: LIMIT,
})

export const AiBudget = T.Object({
  monthly_limit_micros: Nullable(T.Integer(), { description: LIMIT }),
  spent_micros: T.Integer({ description: "Cost of this month's requests that ended" }),
  reserved_micros: T.Integer({ description: "Held for requests under way: at most what they can cost" }),
  resets_at: T.String({ format: "date-time", description: "The first of the next month (UTC)" }),
})

const TierPrice = (of: string) =>
  Nullable(T.Integer(), {
    description: `Price of a million tokens of the ${of} in millionths of a US dollar; null where it is not known`,
  })

export const AiModelTier = T.Object({
  tier: OneOf(planNames, { description: "Plan that the models are part of, as of every larger one" }),
  title: T.String({ description: "Name of the plan" }),
  models: T.Array(
    T.Object({
      id: T.String(),
      capabilities: T.Array(OneOf(AI_KINDS), { description: "What the model does" }),
      input_micros_per_mtok: TierPrice("request"),
      output_micros_per_mtok: TierPrice("answer"),
    }),
    { description: "Models that this plan has and no smaller one" },
  ),
})
