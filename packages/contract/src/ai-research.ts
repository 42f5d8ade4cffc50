/** Research: questions answered out of the project's search index, its documents and the web, with citations. */
import { INFERENCE_FAULTS, INFERENCE_METERS, Model } from "./ai-fields.ts"
import { area, type Static, T } from "./dsl.ts"
import { Id, Nullable, OneOf, PageQuery, Time } from "./types.ts"

export const RESEARCH_SOURCES = ["search", "documents", "web"] as const
export type ResearchSourceName = (typeof RESEARCH_SOURCES)[number]
export const RESEARCH_STATUSES = ["queued", "running", "completed", "partial", "failed", "cancelled"] as const
export type ResearchStatus = (typeof RESEARCH_STATUSES)[number]
export const RESEARCH_RESULTS_DEFAULT = 10
export const RESEARCH_SOURCES_DEFAULT = 8
export const RESEARCH_BREADTH_DEFAULT = 4
export const RESEARCH_DEPTH_DEFAULT = 2
export const RESEARCH_DEADLINE_SECONDS_DEFAULT = 300
export const RESEARCH_WAIT_SECONDS_DEFAULT = 10
/** Deep researches of one project that are not done. */
export const RESEARCH_UNFINISHED_MAX = 20
export const RESEARCH_KEPT_DAYS = 30

const WHERE =
  "`search`: the project's search index (takes the scope `search:read`); `documents`: those of retrieval; `web`: by the " +
  "installation's SearXNG, `SVC_SEARXNG_URL`"

const Query = T.String({ minLength: 1, maxLength: 4_000, pattern: "\\S", description: "The question" })
const aliases = { question: "query" } as const
const Sources = T.Optional(
  T.Array(OneOf(RESEARCH_SOURCES), {
    minItems: 1,
    maxItems: 3,
    uniqueItems: true,
    description: `Where to look. ${WHERE}. Default: all that can be used`,
  }),
)
const Language = T.Optional(
  T.String({
    pattern: "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
    description: "Language of web results, as `en` or `pt-BR`",
  }),
)
const Technique = OneOf(["extractive", "abstractive"], {
  description:
    "`extractive`: sentences as they stand in the sources; `abstractive`: written by a chat model, the default where there is one",
})

const Type = OneOf(RESEARCH_SOURCES, { description: "Where it was found" })
const Title = T.String({ description: "Of the document or page" })
const Url = Nullable(T.String(), { description: "Its address; null where it has none" })
const DocumentId = Nullable(T.String(), {
  description: "Id of the document in the search index or in retrieval; null for pages of the web",
})
const Snippet = T.String({ description: "A passage that fits the question, as plain text" })
const Score = T.Number({
  minimum: 0,
  maximum: 1,
  description: "By its rank where it was found; 1 for the first everywhere",
})
const Warnings = T.Array(T.String(), { description: "What could not be looked at, and why" })
const Scope = T.Array(OneOf(RESEARCH_SOURCES), { description: "Where it was looked" })

const Source = T.Object({
  n: T.Integer({ description: "Its number in the answer: `[1]`" }),
  type: Type,
  title: Title,
  url: Url,
  document_id: DocumentId,
  snippet: Snippet,
  score: Score,
  cited: T.Boolean({ description: "Whether the answer cites it" }),
})

const Answer = Nullable(T.String(), {
  description: "With `[n]` behind what a source says; null where nothing was found that answers",
})
const Method = Nullable(OneOf(["embedded", "upstream"], { description: "Where it runs" }), {
  description: "`embedded`: the platform's own engine; `upstream`: a chat model. Null without an answer",
})
const ModelName = Nullable(T.String(), { description: "What made the answer; null without one" })
const Used = Nullable(Technique, {
  description: "Whether its sentences are the sources' or a model's; null without an answer",
})

const answerFields = {
  answer: Answer,
  sources: T.Array(Source, { description: "What was read: those cited first" }),
  technique: Used,
  model: ModelName,
  method: Method,
  warnings: Warnings,
}

const Step = T.Object({
  round: T.Integer({ description: "From 1 to `depth`" }),
  query: T.String({ description: "What was looked for" }),
  goal: T.String({ description: "Why" }),
  found: T.Integer({ description: "Sources that it added" }),
})

const runFields = {
  id: Id,
  query: T.String({ description: "The question" }),
  status: OneOf(RESEARCH_STATUSES, {
    description: "`partial`: its deadline came first, and the answer is of what was found until then",
  }),
  status_reason: Nullable(T.String(), { description: "Why it is not `completed`; null otherwise" }),
  progress: T.Number({ minimum: 0, maximum: 1, description: "Share of the planned steps that are done" }),
  created_at: Time,
  deadline_at: Time,
  finished_at: Nullable(Time, { description: "RFC 3339 time in UTC; null while it is under way" }),
}

export const ResearchRun = T.Object({
  ...runFields,
  ...answerFields,
  steps: T.Array(Step, { description: "What was done so far" }),
  breadth: T.Integer({ description: "Questions of the first round" }),
  depth: T.Integer({ description: "Rounds" }),
  scope: Scope,
})
export type ResearchRunPayload = Static<typeof ResearchRun>

const common = { scope: "ai:infer", meters: INFERENCE_METERS } as const
const UNTRUSTED =
  "Pages of the web are fetched as untrusted text, within limits of number, size and time, and only what was fetched is cited."

const search = {
  id: "searchResearch",
  http: "POST /v1/ai/research/search",
  summary: "Search the index, the documents and the web at once",
  description: "The ranks of all sources are fused (1 / (60 + rank)). Pages of the web are not fetched.",
  ...common,
  effect: "read",
  body: T.Object({
    query: Query,
    sources: Sources,
    limit: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: 50,
        description: `Most results. Default: ${RESEARCH_RESULTS_DEFAULT}`,
      }),
    ),
    language: Language,
  }),
  aliases,
  replies: {
    200: T.Object({
      query: T.String({ description: "As given" }),
      results: T.Array(
        T.Object({
          type: Type,
          title: Title,
          url: Url,
          document_id: DocumentId,
          snippet: Snippet,
          score: Score,
        }),
        { description: "The best first" },
      ),
      scope: Scope,
      warnings: Warnings,
    }),
  },
  faults: ["invalid_parameter", "ai_daily_limit_exceeded", "service_unavailable"],
  example: { query: "How long is the refund period?", limit: 5 },
} as const

const run = {
  id: "runResearch",
  http: "POST /v1/ai/research",
  summary: "Answer a question with citations",
  description: `Out of the project's search index, its documents, and the web. Without a chat model the answer is sentences of the sources. ${UNTRUSTED}`,
  ...common,
  effect: "read",
  body: T.Object({
    query: Query,
    sources: Sources,
    max_sources: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: 20,
        description: `Most sources that are read. Default: ${RESEARCH_SOURCES_DEFAULT}`,
      }),
    ),
    technique: T.Optional(Technique),
    language: Language,
    model: T.Optional(Model),
  }),
  aliases,
  replies: {
    200: T.Object({ query: T.String({ description: "As given" }), ...answerFields, scope: Scope }),
  },
  faults: [...INFERENCE_FAULTS, "service_unavailable"],
  example: { query: "How long is the refund period?", technique: "extractive" },
} as const

const deep = {
  id: "runDeepResearch",
  http: "POST /v1/ai/research/deep",
  summary: "Research a question in several steps",
  description:
    "Looks for the question and for questions that it leads to, in rounds, and writes a report with citations. It runs in the " +
    "background and survives restarts; what was found is kept whenever it ends. The reply waits for the end as long as " +
    `\`wait_seconds\` says; \`GET /v1/ai/research/status\` tells the rest. ${UNTRUSTED}`,
  ...common,
  effect: "write",
  transaction: "none",
  body: T.Object({
    query: Query,
    sources: Sources,
    breadth: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: 8,
        description: `Questions of the first round; later rounds have half as many. Default: ${RESEARCH_BREADTH_DEFAULT}`,
      }),
    ),
    depth: T.Optional(
      T.Integer({ minimum: 1, maximum: 4, description: `Rounds. Default: ${RESEARCH_DEPTH_DEFAULT}` }),
    ),
    deadline_seconds: T.Optional(
      T.Integer({
        minimum: 1,
        maximum: 3_600,
        description: `From now on; then the answer is made of what was found. Default: ${RESEARCH_DEADLINE_SECONDS_DEFAULT}`,
      }),
    ),
    wait_seconds: T.Optional(
      T.Integer({
        minimum: 0,
        maximum: 60,
        description: `How long the reply waits for the end. Default: ${RESEARCH_WAIT_SECONDS_DEFAULT}`,
      }),
    ),
    technique: T.Optional(Technique),
    language: Language,
    model: T.Optional(Model),
  }),
  aliases,
  replies: { 200: ResearchRun },
  faults: ["invalid_parameter", "ai_daily_limit_exceeded", "service_unavailable"],
  example: { query: "How long is the refund period?", technique: "extractive", breadth: 2, depth: 1 },
} as const

const status = {
  id: "getResearchStatus",
  http: "GET /v1/ai/research/status",
  summary: "Show where research can look, and the deep researches",
  description:
    "With `id` one deep research with its answer, whole or partial; otherwise the project's, newest first.",
  scope: "ai:infer",
  effect: "read",
  query: T.Object({
    id: T.Optional(T.String({ format: "uuid", description: "A deep research" })),
    ...PageQuery.properties,
  }),
  replies: {
    200: T.Object({
      providers: T.Array(
        T.Object({
          name: OneOf(RESEARCH_SOURCES, { description: "The kind of source" }),
          available: T.Boolean({ description: "Whether this caller's questions are looked for there" }),
          reason: Nullable(T.String(), {
            description: "Why not, with the setting; null where it is available",
          }),
        }),
        { description: "Where questions can be looked for" },
      ),
      chat_model: T.Boolean({ description: "Whether answers can be written by a model" }),
      run: Nullable(ResearchRun, { description: "The one that `id` names; null without `id`" }),
      runs: T.Array(T.Object(runFields), { description: "One page of the project's, or the one" }),
      total: T.Integer({ description: "Number of deep researches on all pages" }),
    }),
  },
  faults: ["resource_not_found"],
} as const

const Named = T.Object({ id: Id })

const cancel = {
  id: "cancelResearch",
  http: "POST /v1/ai/research/runs/{id}/cancel",
  summary: "Cancel a deep research",
  description: "What was found stays, with the answer so far. One that has ended stays as it is.",
  scope: "ai:infer",
  effect: "write",
  extension: true,
  idempotency: "natural",
  params: Named,
  replies: { 200: ResearchRun },
  faults: ["resource_not_found"],
} as const

const remove = {
  id: "deleteResearch",
  http: "DELETE /v1/ai/research/runs/{id}",
  summary: "Delete a deep research",
  description: "One that is under way ends.",
  scope: "ai:infer",
  effect: "destroy",
  extension: true,
  params: Named,
  replies: { 204: null },
  faults: ["resource_not_found"],
} as const

export const research = area(
  "research",
  {
    title: "Research",
    summary: "Answers with citations out of the search index, documents and the web",
    project: "required",
    belongs: "project",
  },
  { run, deep, search, status, cancel, remove },
)
