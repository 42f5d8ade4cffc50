/** `GET /v1/ai/models`: what the caller can use. */
import { AI_KINDS, type AiKind, type PlanName, planNames, plans } from "@svc/contract"
import { type Candidate, callable, type Upstream } from "./catalog.ts"
import { EMBEDDED_EMBEDDING } from "./embeddings.ts"
import type { Health } from "./health.ts"
import { EMBEDDED_SPEECH } from "./speak.ts"

const FREE_PLAN = planNames[0]

/** Dollars for one token, as OpenRouter writes them. */
const perToken = (microsPerMillion: number | undefined): string =>
  (microsPerMillion === undefined ? 0 : microsPerMillion / 1e12).toFixed(12).replace(/\.?0+$/, "")

const pricing = ({ model: { prices } }: Candidate) => {
  if (!prices) return null
  return {
    prompt: perToken(prices.input_micros_per_mtok),
    completion: perToken(prices.output_micros_per_mtok ?? prices.input_micros_per_mtok),
    ...(prices.image_micros !== undefined && { image: String(prices.image_micros / 1e6) }),
  }
}

const secondsOf = (nowMs: number): number => Math.floor(nowMs / 1000)

const embedded = (id: string, kind: AiKind, created: number) => ({
  id,
  object: "model" as const,
  created,
  owned_by: "svc",
  capabilities: [kind],
  context_length: null,
  max_output_tokens: null,
  pricing: { prompt: "0", completion: "0" },
  min_plan: FREE_PLAN,
  available: true,
  method: "embedded" as const,
  upstreams: [],
})

/** Those that need no upstream. */
export const embeddedModels = (hasSpeech: boolean, nowMs: number) => {
  const created = secondsOf(nowMs)
  const embedding = embedded(EMBEDDED_EMBEDDING, "embedding", created)
  return hasSpeech ? [embedding, embedded(EMBEDDED_SPEECH, "speech", created)] : [embedding]
}

/** The same id at several upstreams is one model. */
const grouped = (candidates: readonly Candidate[]): Candidate[][] => [
  ...Map.groupBy(candidates, ({ model }) => model.id).values(),
]

export const listModels = (upstreams: readonly Upstream[], plan: PlanName, health: Health, nowMs: number) => {
  const created = secondsOf(nowMs)
  const all = new Set(
    AI_KINDS.flatMap((kind: AiKind) => callable(upstreams, kind, plan).map(found => found.model)),
  )
  const candidates = upstreams.flatMap(upstream =>
    upstream.models.filter(model => all.has(model)).map(model => ({ upstream, model })),
  )
  return grouped(candidates).flatMap(same => {
    const [first] = same
    if (!first) return []
    const { model, upstream } = first
    return {
      id: model.id,
      object: "model" as const,
      created,
      owned_by: upstream.name,
      capabilities: [...new Set(same.flatMap(({ model: { kinds } }) => kinds))],
      context_length: model.context_length ?? null,
      max_output_tokens: model.max_output_tokens ?? null,
      pricing: pricing(first),
      min_plan: model.min_plan ?? FREE_PLAN,
      available: same.some(candidate => health.standing(candidate) !== "cooling"),
      method: "upstream" as const,
      upstreams: same.map(({ upstream: { name } }) => name),
    }
  })
}

/** The models that each plan adds to those of the smaller ones. */
export const modelTiers = (upstreams: readonly Upstream[]) => {
  const models = grouped(
    upstreams.flatMap(upstream => upstream.models.map(model => ({ upstream, model }))),
  ).flatMap(([first]) => (first ? [first.model] : []))
  return planNames.map(tier => ({
    tier,
    title: plans[tier].title,
    models: models
      .filter(({ min_plan = FREE_PLAN }) => min_plan === tier)
      .map(({ id, kinds, prices }) => ({
        id,
        capabilities: [...kinds],
        input_micros_per_mtok: prices?.input_micros_per_mtok ?? null,
        output_micros_per_mtok: prices?.output_micros_per_mtok ?? prices?.input_micros_per_mtok ?? null,
      })),
  }))
}
