/** The rows that models answer, in the shapes of OpenAI's API. */
import {
  AI_AUDIO_BYTES_MAX,
  ChatCompletion,
  ChatCompletionRequest,
  EmbeddingRequest,
  Embeddings,
  ImageRequest,
  Images,
  INFERENCE_FAULTS,
  INFERENCE_METERS,
  SpeechRequest,
} from "./ai-fields.ts"
import { MIB, type OperationSpec, T } from "./dsl.ts"

/** Images and audio travel inside messages. */
const CHAT_BYTES_MAX = 32 * MIB

const HEADERS =
  "`x-svc-provider` names the upstream that answered, `x-svc-attempts` counts the tries, `x-svc-fallback` tells whether " +
  "it was another than the first."

const exampleChat = { model: "svc-default", messages: [{ role: "user", content: "Say hello." }] }

export const aiInference = {
  chat: {
    id: "chatCompletion",
    http: "POST /v1/ai/chat/completions",
    summary: "Answer a conversation",
    description: `OpenAI's chat completions: tools, JSON schema, images and audio in messages; unknown fields are forwarded. With \`stream: true\` the reply is a stream of events. ${HEADERS}`,
    scope: "ai:infer",
    effect: "read",
    envelope: "bare",
    body: ChatCompletionRequest,
    bodyBytesMax: CHAT_BYTES_MAX,
    replies: { 200: ChatCompletion },
    faults: INFERENCE_FAULTS,
    meters: INFERENCE_METERS,
    example: exampleChat,
  },
  chatStream: {
    id: "streamChatCompletion",
    http: "POST /v1/ai/chat/completions/stream",
    summary: "Answer a conversation as it is written",
    description:
      "As `POST /v1/ai/chat/completions` with `stream: true`. Nothing is sent before the model's first words, so that " +
      "refusals have their own status; an error after that is an event with `error`, and the stream ends without a finish.",
    scope: "ai:infer",
    effect: "read",
    envelope: "bare",
    content: { reply: "sse" },
    body: ChatCompletionRequest,
    bodyBytesMax: CHAT_BYTES_MAX,
    replies: {
      200: T.String({
        description: "Events whose data is a `chat.completion.chunk`; the last one's is `[DONE]`",
      }),
    },
    faults: INFERENCE_FAULTS,
    meters: INFERENCE_METERS,
    example: exampleChat,
  },
  embed: {
    id: "createEmbeddings",
    http: "POST /v1/ai/embeddings",
    summary: "Turn texts into vectors",
    description: `OpenAI's embeddings, as floats or base64. Without \`model\` the first embedding model of an upstream answers, or the embedded \`svc-embed-hash-384\`, whose vectors compare words and parts of words, not meaning. ${HEADERS}`,
    scope: "ai:infer",
    effect: "read",
    envelope: "bare",
    body: EmbeddingRequest,
    bodyBytesMax: 8 * MIB,
    replies: { 200: Embeddings },
    faults: INFERENCE_FAULTS,
    meters: INFERENCE_METERS,
    example: { model: "svc-embed-hash-384", input: ["a red apple", "a green apple"] },
  },
  generateImage: {
    id: "generateImage",
    http: "POST /v1/ai/images/generations",
    summary: "Make images from a text",
    description: `OpenAI's image generation, by an upstream that has an image model. ${HEADERS}`,
    scope: "ai:infer",
    effect: "read",
    envelope: "bare",
    body: ImageRequest,
    replies: { 200: Images },
    faults: INFERENCE_FAULTS,
    meters: INFERENCE_METERS,
    example: { prompt: "A red apple on a table" },
  },
  speak: {
    id: "generateSpeech",
    http: "POST /v1/ai/audio/speech",
    summary: "Read a text aloud",
    description: `OpenAI's speech. The reply is the audio, of an upstream's speech model, or of \`svc-espeak\` where there is none: a formant voice made here, as \`mp3\`, \`wav\` or \`pcm\`, whose replies have \`x-svc-method: embedded\`. ${HEADERS}`,
    scope: "ai:infer",
    effect: "read",
    envelope: "bare",
    content: {
      reply: "bytes",
      replyTypes: ["audio/mpeg", "audio/wav", "audio/ogg", "audio/aac", "audio/flac", "audio/pcm"],
    },
    body: SpeechRequest,
    replies: { 200: T.String({ description: "Audio" }) },
    faults: INFERENCE_FAULTS,
    meters: INFERENCE_METERS,
    example: { input: "Hello.", voice: "alloy", response_format: "wav" },
  },
  transcribe: {
    id: "transcribeAudio",
    http: "POST /v1/ai/audio/transcriptions",
    summary: "Write down what is said in an audio file",
    description: `OpenAI's transcriptions, by an upstream that has a transcription model. \`multipart/form-data\` with \`file\`, at most 25 MiB, \`model\`, \`language\`, \`response_format\` and what else the upstream takes. ${HEADERS}`,
    scope: "ai:infer",
    effect: "read",
    envelope: "bare",
    content: { request: "multipart" },
    bodyBytesMax: AI_AUDIO_BYTES_MAX,
    replies: {
      200: T.Object({ text: T.String({ description: "What was said" }) }, { additionalProperties: true }),
    },
    faults: [...INFERENCE_FAULTS, "payload_too_large", "unsupported_media_type", "missing_parameter"],
    meters: INFERENCE_METERS,
  },
} as const satisfies Record<string, OperationSpec>
