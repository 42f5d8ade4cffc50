/** What the gateway does for other areas. */
import { setImmediate as turn } from "node:timers/promises"
import { AI_EMBEDDING_DIMENSIONS_DEFAULT } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { type Catalog, callable } from "./catalog.ts"
import type { Chat } from "./chat.ts"
import { CHARACTERS_AT_ONCE, countEmbeddedRequest, EMBEDDED_EMBEDDING } from "./embeddings.ts"
import { hashEmbedding } from "./engines/hash-embedding.ts"
import type { AiLedger } from "./ledger.ts"
import type { AiModels } from "./offers.ts"

interface Completion {
  readonly model?: unknown
  readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[]
}

export const createModelsOffer = (needs: {
  readonly catalog: Catalog
  readonly ledger: AiLedger
  readonly chat: Chat
}): AiModels => {
  const { catalog, ledger, chat } = needs
  return {
    async hasChat({ organization }) {
      const upstreams = await catalog.upstreamsOf(organization.id)
      return callable(upstreams, "chat", organization.plan).length > 0
    },

    async chat(call, { model, messages, maxTokens, schema }) {
      const given = {
        ...(model !== undefined && { model }),
        messages: [...messages],
        max_tokens: maxTokens,
        temperature: 0,
        ...(schema && { response_format: { type: "json_schema", json_schema: { ...schema, strict: true } } }),
      }
      const bytes = (await chat.complete(given, call, false)) as Buffer
      const completion = JSON.parse(bytes.toString()) as Completion
      const text = completion.choices?.[0]?.message?.content
      if (typeof text !== "string" || text.trim() === "")
        throw fault("all_providers_exhausted", { reason: "the model's answer has no text" })
      return { text, model: typeof completion.model === "string" ? completion.model : (model ?? "unknown") }
    },

    countEmbedded: call => countEmbeddedRequest(ledger, call),

    async embed(texts) {
      const vectors: Float32Array[] = []
      let characters = 0
      for (const text of texts) {
        vectors.push(hashEmbedding(text, AI_EMBEDDING_DIMENSIONS_DEFAULT).vector)
        characters += text.length
        if (characters < CHARACTERS_AT_ONCE) continue
        characters = 0
        await turn()
      }
      return { vectors, model: EMBEDDED_EMBEDDING, method: "embedded" }
    },
  }
}
