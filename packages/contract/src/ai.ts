import {
  AiBudget,
  AiModelPayload,
  AiModelTier,
  AiUpstreamPayload,
  MonthlyLimit,
  upstreamChanges,
  upstreamFields,
} from "./ai-fields.ts"
import { aiInference } from "./ai-inference.ts"
import { area, type OperationSpec, T } from "./dsl.ts"
import { Id, Nullable, Page, PageQuery } from "./types.ts"

const UpstreamId = T.Object({ id: Id })
const URL_FAULTS = ["invalid_parameter", "name_taken"] as const

const upstreamOperations = {
  upstreams: {
    extension: true,
    id: "listAiUpstreams",
    http: "GET /v1/ai/upstreams",
    summary: "List the organization's own model servers",
    scope: "integrations:read",
    effect: "read",
    belongs: "organization",
    query: PageQuery,
    replies: { 200: Page(AiUpstreamPayload) },
  },
  createUpstream: {
    extension: true,
    id: "createAiUpstream",
    http: "POST /v1/ai/upstreams",
    summary: "Add a model server of your own, with your own key",
    description:
      "Any server that speaks OpenAI's API. Its models are tried before those of the installation with the same id. It is " +
      "requested as every address that users give: on the public Internet, or where the operator allows.",
    scope: "integrations:write",
    effect: "write",
    belongs: "organization",
    body: T.Object(upstreamFields),
    replies: { 201: AiUpstreamPayload },
    faults: URL_FAULTS,
    example: {
      name: "openrouter",
      base_url: "https://openrouter.ai/api/v1",
      api_key: "sk-or-example",
      models: ["meta-llama/llama-3.3-70b-instruct"],
    },
  },
  getUpstream: {
    extension: true,
    id: "getAiUpstream",
    http: "GET /v1/ai/upstreams/{id}",
    summary: "Show a model server",
    scope: "integrations:read",
    effect: "read",
    belongs: "organization",
    params: UpstreamId,
    replies: { 200: AiUpstreamPayload },
    faults: ["ai_upstream_not_found"],
  },
  updateUpstream: {
    extension: true,
    id: "updateAiUpstream",
    http: "PATCH /v1/ai/upstreams/{id}",
    summary: "Change a model server",
    description:
      "What is left out stays. A change of the address needs the key again, which would otherwise go to whoever is there.",
    scope: "integrations:write",
    effect: "write",
    belongs: "organization",
    params: UpstreamId,
    body: T.Object(upstreamChanges),
    replies: { 200: AiUpstreamPayload },
    faults: ["ai_upstream_not_found", ...URL_FAULTS],
    example: { enabled: false },
  },
  deleteUpstream: {
    extension: true,
    id: "deleteAiUpstream",
    http: "DELETE /v1/ai/upstreams/{id}",
    summary: "Remove a model server",
    scope: "integrations:write",
    effect: "destroy",
    belongs: "organization",
    params: UpstreamId,
    replies: { 204: null },
    faults: ["ai_upstream_not_found"],
  },
  testUpstream: {
    extension: true,
    id: "testAiUpstream",
    http: "POST /v1/ai/upstreams/{id}/test",
    summary: "Ask a model server for its models",
    description: "The reply is 200 also where it does not answer: `success` and `error` tell.",
    scope: "integrations:write",
    effect: "write",
    transaction: "none",
    belongs: "organization",
    params: UpstreamId,
    replies: {
      200: T.Object({
        success: T.Boolean({ description: "Whether it listed its models" }),
        status_code: Nullable(T.Integer(), {
          description: "Status of its answer; null where there was none",
        }),
        error: Nullable(T.String(), { description: "What went wrong; null where nothing did" }),
        models: T.Array(T.String(), { description: "Ids of the models that it lists" }),
        response_time_ms: T.Integer({ description: "Milliseconds until its answer was read" }),
      }),
    },
    faults: ["ai_upstream_not_found"],
  },
} as const satisfies Record<string, OperationSpec>

export const ai = area(
  "ai",
  {
    title: "AI",
    summary: "Models behind one key: chat, embeddings, images, speech, transcription",
    project: "optional",
    belongs: "project",
  },
  {
    ...aiInference,
    models: {
      id: "listModels",
      http: "GET /v1/ai/models",
      summary: "List the models that the caller can use",
      scope: "ai:models",
      effect: "read",
      envelope: "bare",
      replies: {
        200: T.Object({
          object: T.String({ description: "`list`, as OpenAI names it" }),
          data: T.Array(AiModelPayload, { description: "Those of upstreams first" }),
        }),
      },
    },
    modelTiers: {
      id: "listModelTiers",
      http: "GET /v1/billing/model-tiers",
      summary: "List the models of each plan, with their prices",
      description:
        "Models of the installation's upstreams, for everybody to see; an organization's own are its own matter.",
      scope: "public",
      effect: "read",
      project: "none",
      belongs: "installation",
      replies: { 200: T.Object({ tiers: T.Array(AiModelTier, { description: "The smallest plan first" }) }) },
    },
    ...upstreamOperations,
    budget: {
      extension: true,
      id: "getAiBudget",
      http: "GET /v1/ai/budget",
      summary: "Show what AI requests of this month cost, and their limit",
      scope: "billing:read",
      effect: "read",
      belongs: "organization",
      replies: { 200: AiBudget },
    },
    setBudget: {
      extension: true,
      id: "setAiBudget",
      http: "PUT /v1/ai/budget",
      summary: "Limit what AI requests may cost in a month",
      description:
        "Millionths of a US dollar; null lifts the limit. Past it requests are refused with `ai_budget_exhausted`.",
      scope: "billing:write",
      effect: "write",
      idempotency: "natural",
      belongs: "organization",
      body: T.Object({ monthly_limit_micros: MonthlyLimit }),
      replies: { 200: AiBudget },
      example: { monthly_limit_micros: 50_000_000 },
    },
  },
)
