import { areas } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import { implement } from "../../kernel/implement.ts"
import type { Catalog } from "./catalog.ts"
import type { Chat } from "./chat.ts"
import type { createEmbeddings } from "./embeddings.ts"
import type { Speech } from "./engines/speech/speech.ts"
import type { Health } from "./health.ts"
import type { createMedia } from "./media.ts"
import { embeddedModels, listModels, modelTiers } from "./model-list.ts"
import type { createSpeak } from "./speak.ts"
import { accountStore } from "./store.ts"
import { type UpstreamHandlerNeeds, upstreamHandlers } from "./upstream-handlers.ts"

export interface AiHandlerNeeds extends UpstreamHandlerNeeds {
  readonly catalog: Catalog
  readonly health: Health
  readonly clock: Clock
  readonly chat: Chat
  readonly embed: ReturnType<typeof createEmbeddings>
  readonly media: ReturnType<typeof createMedia>
  readonly speech: Speech
  readonly speak: ReturnType<typeof createSpeak>
}

const NANOS_PER_MICRO = 1_000

const budgetOf = async ({ db, organization, now }: Call) => {
  const account = await accountStore(db, organization.id).find()
  const month = `${now.toISOString().slice(0, 7)}-01`
  return {
    monthly_limit_micros: account?.monthly_limit_micros ?? null,
    spent_micros: account?.month === month ? Math.round(account.spent_nanos / NANOS_PER_MICRO) : 0,
    reserved_micros: Math.round((account?.reserved_nanos ?? 0) / NANOS_PER_MICRO),
    resets_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
  }
}

/** An upstream's bytes go on as they came: the edge writes them, and their content type is set with them. */
const asSent = <Payload>(bytes: unknown): Payload => bytes as Payload

export const aiHandlers = implement(areas.ai, (needs: AiHandlerNeeds) => {
  const { chat, embed, media, speech, speak, catalog, health, clock } = needs
  return {
    ...upstreamHandlers(needs),

    async chat(input, call) {
      return asSent(await chat.complete(input, call, input.stream === true))
    },
    async chatStream(input, call) {
      return asSent(await chat.complete(input, call, true))
    },
    async embed(input, call) {
      return asSent(await embed(input, call))
    },
    async generateImage(input, call) {
      return asSent(await media.generateImage(input, call))
    },
    async speak(input, call) {
      return asSent(await speak(input, call))
    },
    async transcribe(_input, call) {
      return asSent(await media.transcribe(call))
    },

    async models(_input, { organization }) {
      const upstreams = await catalog.upstreamsOf(organization.id)
      const embedded = embeddedModels(speech.isInstalled, clock.now())
      return {
        object: "list",
        data: [...listModels(upstreams, organization.plan, health, clock.now()), ...embedded],
      }
    },

    modelTiers: () => ({ tiers: modelTiers(catalog.installation) }),

    budget: (_input, call) => budgetOf(call),

    async setBudget({ monthly_limit_micros }, call) {
      await accountStore(call.db, call.organization.id).setLimit(monthly_limit_micros, call.now)
      call.describe({
        targets: [{ type: "organization", id: call.organization.id, name: call.organization.name }],
        metadata: { monthly_limit_micros },
      })
      return budgetOf(call)
    },
  }
})
