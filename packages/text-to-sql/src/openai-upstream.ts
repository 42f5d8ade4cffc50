import { ModelError } from "./errors.ts"
import type { LanguageModel } from "./language-model.ts"

export interface UpstreamSettings {
  /** Up to and including the version: `https://api.openai.com/v1`. */
  readonly baseUrl: string
  readonly key?: string | undefined
  readonly model: string
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 30_000
const REPLY_BYTES_MAX = 1024 * 1024

const readBounded = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > REPLY_BYTES_MAX) throw new ModelError("refused", "the model's reply is larger than 1 MiB")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const field = (value: unknown, name: string | number): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[name] : undefined

const completionOf = (body: string, asked: string): { text: string; model: string } => {
  let reply: unknown
  try {
    reply = JSON.parse(body)
  } catch (cause) {
    throw new ModelError("refused", "the model's reply is not JSON", cause)
  }
  const text = field(field(field(field(reply, "choices"), 0), "message"), "content")
  if (typeof text !== "string") throw new ModelError("refused", "the model's reply has no message")
  const model = field(reply, "model")
  return { text, model: typeof model === "string" ? model : asked }
}

/** Any server that speaks OpenAI's chat completions. */
export const createUpstream = (settings: UpstreamSettings): LanguageModel => {
  const url = `${settings.baseUrl.replace(/\/+$/, "")}/chat/completions`
  const headers = {
    "content-type": "application/json",
    ...(settings.key ? { authorization: `Bearer ${settings.key}` } : {}),
  }
  return {
    async complete({ system, user, maxTokens, signal }) {
      const messages = [
        { role: "system", content: system },
        { role: "user", content: user },
      ]
      const body = JSON.stringify({ model: settings.model, messages, max_tokens: maxTokens, temperature: 0 })
      const limit = AbortSignal.any([signal, AbortSignal.timeout(settings.timeoutMs ?? TIMEOUT_MS)])
      try {
        // A redirect would carry the key to wherever it points.
        const response = await fetch(url, { method: "POST", headers, body, signal: limit, redirect: "error" })
        const text = await readBounded(response)
        if (response.ok) return completionOf(text, settings.model)
        const later = response.status === 429 || response.status >= 500
        throw new ModelError(
          later ? "unavailable" : "refused",
          `the model's server answered ${response.status}`,
        )
      } catch (error) {
        if (error instanceof ModelError) throw error
        if (signal.aborted) throw error
        throw new ModelError("unavailable", "the model's server cannot be reached in time", error)
      }
    },
  }
}
