/** What all kinds of inference have in common: which models, what it may cost, who answers, what it did cost. */
import { type AiKind, plans } from "@svc/contract"
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { Clock } from "../../kernel/clock.ts"
import { fault } from "../../kernel/fault.ts"
import { type Candidate, type Catalog, callable, named } from "./catalog.ts"
import { Cancelled } from "./failure.ts"
import type { Health } from "./health.ts"
import type { AiLedger, Ask, Reservation } from "./ledger.ts"
import type { ModelCaller } from "./offers.ts"
import { costOf, type Rates, ratesOf, type TokenUsage } from "./prices.ts"
import { notConfigured, ordered, type Routed, type Routing } from "./routing.ts"
import type { Flight, UpstreamClient } from "./upstream-client.ts"

export interface GatewayNeeds {
  readonly catalog: Catalog
  readonly health: Health
  readonly routing: Routing
  readonly ledger: AiLedger
  readonly client: UpstreamClient
  readonly clock: Clock
  readonly meters: BackgroundMeters
  readonly unknownPriceMicros: number
  readonly random?: () => number
}

/** What a request can cost at one candidate. */
export type Estimate = Pick<Ask, "inputNanos" | "leastNanos" | "mostNanos">

export interface Inference<Result> {
  readonly kind: AiKind
  /** Names, in the order in which they are to be tried; none: the first model of this kind. */
  readonly models: readonly (string | undefined)[]
  /** Longest wait for an answer to begin. */
  readonly firstByteMs: number
  estimate(candidate: Candidate): Estimate
  /** One try. Whatever it gives keeps the flight until it ends it. */
  send(candidate: Candidate, flight: Flight, reservation: Reservation): Promise<Result>
}

export interface Inferred<Result> extends Routed<Result> {
  readonly reservation: Reservation
}

const WHAT: Readonly<Record<AiKind, string>> = {
  chat: "chat",
  embedding: "embeddings",
  image: "images",
  speech: "speech",
  transcription: "transcription",
}

export const organizationAsk = ({ organization }: Pick<ModelCaller, "organization">) => ({
  organizationId: organization.id,
  dailyMax: plans[organization.plan].ai_requests_per_day,
})

const most = (estimates: readonly Estimate[], name: keyof Estimate): number =>
  Math.max(...estimates.map(estimate => estimate[name]))

export const createGateway = (needs: GatewayNeeds) => {
  const { catalog, routing, ledger, client, clock, meters, unknownPriceMicros, random = Math.random } = needs

  /** The models that are meant, in the order of trying. Throws where there are none. */
  const candidatesOf = async (call: ModelCaller, kind: AiKind, models: readonly (string | undefined)[]) => {
    const upstreams = await catalog.upstreamsOf(call.organization.id)
    const all = callable(upstreams, kind, call.organization.plan)
    const groups = models.map(model => named(all, model))
    const candidates = ordered(groups, random)
    if (candidates.length > 0) return candidates
    if (all.length === 0) throw notConfigured(WHAT[kind])
    throw fault("model_not_found", { model: models[0] ?? "" })
  }

  const rates = (candidate: Candidate): Rates => ratesOf(candidate, unknownPriceMicros)

  const meterTokens = (call: ModelCaller, { inputTokens, outputTokens }: TokenUsage) => {
    call.meter("ai_input_tokens", inputTokens)
    call.meter("ai_output_tokens", outputTokens)
  }

  /** Of a reply that ended after its call. */
  const meterTokensLater = (
    { organization, project }: ModelCaller,
    { inputTokens, outputTokens }: TokenUsage,
  ) => {
    const of = { organizationId: organization.id, projectId: project?.id ?? null, at: new Date(clock.now()) }
    meters.count({ ...of, metric: "ai_input_tokens", quantity: inputTokens })
    meters.count({ ...of, metric: "ai_output_tokens", quantity: outputTokens })
  }

  const infer = async <Result>(
    call: ModelCaller,
    inference: Inference<Result>,
  ): Promise<Inferred<Result>> => {
    const { kind, models, firstByteMs, estimate, send } = inference
    const startedMs = clock.now()
    const candidates = await candidatesOf(call, kind, models)
    const estimates = candidates.map(estimate)
    const inputNanos = most(estimates, "inputNanos")
    const reservation = await ledger.reserve({
      ...organizationAsk(call),
      isCharged: candidates.some(({ upstream }) => !upstream.isOwn),
      inputNanos,
      leastNanos: most(estimates, "leastNanos"),
      mostNanos: most(estimates, "mostNanos"),
    })
    const { signal } = call
    try {
      const routed = await routing(candidates, signal, async candidate => {
        const flight = client.fly(signal, startedMs, firstByteMs)
        try {
          return await send(candidate, flight, reservation)
        } catch (error) {
          flight.end()
          throw error
        }
      })
      if (routed.candidate.upstream.isOwn) reservation.isOwn()
      call.setHeader("x-svc-provider", routed.candidate.upstream.name)
      call.setHeader("x-svc-attempts", String(routed.attempts))
      call.setHeader("x-svc-fallback", String(routed.isFallback))
      call.meter("ai_requests", 1)
      return { ...routed, reservation }
    } catch (error) {
      if (error instanceof Cancelled) {
        // Giving all back would let callers leave before the first word and pay nothing.
        reservation.settle(inputNanos)
        throw fault("request_timeout", undefined, { internal: error })
      }
      reservation.release()
      throw error
    }
  }

  return {
    infer,
    rates,
    costOf: (candidate: Candidate, { inputTokens, outputTokens }: TokenUsage) =>
      costOf(rates(candidate), inputTokens, outputTokens),
    meterTokens,
    meterTokensLater,
    candidatesOf,
  }
}

export type Gateway = ReturnType<typeof createGateway>
