import { area, MIB, T } from "./dsl.ts"
import { Id, Name, Nullable, OneOf, Page, PageQuery, pageQuery, Time } from "./types.ts"

export const SEARCH_SOURCE_TYPES = ["inline", "database", "storage", "url"] as const

/** PostgreSQL's built-in configurations of text search, from version 16 on. */
export const SEARCH_LANGUAGES = [
  ...(["simple", "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english"] as const),
  ...(["finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish"] as const),
  ...(["italian", "lithuanian", "nepali", "norwegian", "portuguese", "romanian", "russian"] as const),
  ...(["serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"] as const),
] as const

export const SEARCH_LANGUAGE_DEFAULT = "english"
/** UTF-16 units of a query. */
export const SEARCH_QUERY_LENGTH_MAX = 1000
export const SEARCH_LIMIT_DEFAULT = 20
export const SEARCH_FACETS_MAX = 8
/** Values of one facet, the most frequent first. */
export const SEARCH_FACET_VALUES_MAX = 20
/** UTF-16 units of a document's id. */
export const SEARCH_DOCUMENT_ID_LENGTH_MAX = 512
/** UTF-8 bytes of all that one document says. */
export const SEARCH_DOCUMENT_BYTES_MAX = MIB
/** Characters of one document that are searched; what follows is left out. */
export const SEARCH_INDEXED_CHARACTERS_MAX = 100_000
export const SEARCH_METADATA_BYTES_MAX = 16 * 1024
/** Documents of one write or delete. */
export const SEARCH_DOCUMENTS_MAX = 1000
export const SEARCH_SOURCES_MAX = 100
/** Errors that a run keeps, one a document; all are counted. */
export const SEARCH_RUN_ERRORS_MAX = 100
/** Addresses of a source of type url. */
export const SEARCH_URLS_MAX = 1000

const SCHEDULE_SECONDS_MIN = 60
const SCHEDULE_SECONDS_MAX = 30 * 86_400
const FIELDS_MAX = 20
const BODY_BYTES_MAX = 10 * MIB
const FILTER_LENGTH_MAX = 4000
const SUGGESTIONS_MAX = 20

const SourceId = T.Object({ id: Id })
const Language = OneOf(SEARCH_LANGUAGES)
const DocumentId = T.String({ minLength: 1, maxLength: SEARCH_DOCUMENT_ID_LENGTH_MAX })

const Path = T.String({
  minLength: 1,
  maxLength: 256,
  description: "Field of the document; dots lead into objects, as in `metadata.author`",
})

const Field = T.Object(
  {
    path: Path,
    weight: T.Optional(T.Integer({ minimum: 1, maximum: 4, default: 1, description: "4 counts most" })),
  },
  { additionalProperties: false },
)

const Config = T.Record(T.String(), T.Unknown(), {
  description:
    "What there is to read. `inline`: nothing. `database`: `{database_id?, branch_id?, table, title?, url?, metadata?}`, " +
    "where table is `name` or `schema.name` and has a primary key, title and url are columns, and metadata is a list of " +
    "columns. `storage`: `{bucket, prefix?}`. `url`: `{urls}`, at most 1,000.",
})

const sourceFields = {
  name: Name,
  type: OneOf(SEARCH_SOURCE_TYPES),
  config: T.Optional(Config),
  fields: T.Optional(
    T.Array(Field, {
      minItems: 1,
      maxItems: FIELDS_MAX,
      description:
        "What of a document is searched; its title with weight 4 and its text with weight 1 if left out",
    }),
  ),
  language: T.Optional(Language),
  schedule: T.Optional(
    Nullable(
      T.Integer({
        minimum: SCHEDULE_SECONDS_MIN,
        maximum: SCHEDULE_SECONDS_MAX,
        description: "Seconds from the start of a run to the next; null: only when asked",
      }),
    ),
  ),
  enabled: T.Optional(
    T.Boolean({ description: "A source that is not enabled stays searchable and is not read" }),
  ),
}

const RUN_STATUSES = ["queued", "running", "succeeded", "failed"] as const

const Source = T.Object({
  id: Id,
  name: Name,
  type: OneOf(SEARCH_SOURCE_TYPES),
  config: T.Record(T.String(), T.Unknown()),
  fields: T.Array(T.Object({ path: T.String(), weight: T.Integer() })),
  language: Language,
  schedule: Nullable(T.Integer()),
  enabled: T.Boolean(),
  status: OneOf(["idle", ...RUN_STATUSES]),
  document_count: T.Integer(),
  last_run_at: Nullable(Time),
  last_error: Nullable(T.String()),
  created_at: Time,
  updated_at: Time,
})

const runFields = {
  run_id: Id,
  source_id: Id,
  status: OneOf(RUN_STATUSES),
}

const Run = T.Object({
  ...runFields,
  seen: T.Integer({ description: "Documents read so far" }),
  written: T.Integer({ description: "Of these, new or changed" }),
  unchanged: T.Integer(),
  failed: T.Integer({ description: "Of these, not searchable, or only as they were before" }),
  removed: T.Integer({ description: "Documents that the source no longer has" }),
  errors: T.Array(T.Object({ document_id: T.String(), message: T.String() }), {
    description: "The first 100",
  }),
  error: Nullable(T.String({ description: "Why the run as a whole failed" })),
  created_at: Time,
  started_at: Nullable(Time),
  finished_at: Nullable(Time),
})

const Started = T.Object({
  run_id: Id,
  status: OneOf(RUN_STATUSES),
  sources: T.Array(T.Object(runFields), {
    description: "A source that was being read already goes on under the run_id that it had",
  }),
})

const Metadata = T.Record(T.String(), T.Unknown(), { description: "A JSON object of at most 16 KiB" })

const Document = T.Object(
  {
    id: DocumentId,
    title: T.Optional(T.String()),
    text: T.Optional(T.String({ description: "The first 100,000 characters are searched" })),
    url: T.Optional(T.String({ maxLength: 2048, description: "http or https" })),
    metadata: T.Optional(Metadata),
    language: T.Optional(Language),
    boost: T.Optional(
      T.Number({ minimum: 0.01, maximum: 100, default: 1, description: "What its score is multiplied by" }),
    ),
  },
  { additionalProperties: false },
)

const Hit = T.Object({
  id: T.String(),
  source_id: Id,
  title: T.String({ description: "Plain text, to be escaped like any other" }),
  snippet: T.String({ description: "Safe HTML: `<mark>` around what was found, everything else escaped" }),
  url: Nullable(T.String({ description: "http or https" })),
  score: T.Number(),
  metadata: T.Record(T.String(), T.Unknown()),
})

const FacetValue = T.Object({ value: T.Union([T.String(), T.Number(), T.Boolean()]), count: T.Integer() })

const queryFields = {
  q: T.Optional(
    T.String({
      maxLength: SEARCH_QUERY_LENGTH_MAX,
      description:
        'Words; `"a phrase"`; `-without`. The last word may be unfinished. None: the newest documents',
    }),
  ),
  ...pageQuery,
  limit: T.Optional(T.Integer({ minimum: 1, maximum: 200, default: SEARCH_LIMIT_DEFAULT })),
  offset: T.Optional(T.Integer({ minimum: 0, maximum: 10_000, default: 0 })),
  source: T.Optional(T.String({ maxLength: 64, description: "Id of the source to search in" })),
  filter: T.Optional(
    T.String({
      maxLength: FILTER_LENGTH_MAX,
      description:
        'JSON on metadata, all of which must hold: `{"color":"red","tag":["a","b"],"year":{"gte":2020,"lt":2025}}` – ' +
        "a value, any of several, or a range (`gt`, `gte`, `lt`, `lte`) of numbers or texts. Dots lead into objects; " +
        "of a list any element may match",
    }),
  ),
  facets: T.Optional(
    T.String({
      maxLength: 1000,
      description: "Fields of metadata, separated by commas, whose values are counted; at most 8",
    }),
  ),
  language: T.Optional(Language),
  highlight: T.Optional(T.Boolean({ default: true })),
}

const Stats = T.Object({
  documents: T.Integer(),
  sources: T.Integer(),
  index_bytes: Nullable(T.Integer({ description: "null where the engine does not tell it for a project" })),
  last_ingest_at: Nullable(Time),
  pending: T.Integer({ description: "Runs that wait or are under way" }),
  tts_p95_ms: Nullable(
    T.Number({
      description:
        "Time to search: within it 95 % of the latest documents could be found, counted from their reading",
    }),
  ),
})

export const search = area(
  "search",
  { title: "Search", summary: "Full-text search in a project", project: "required", belongs: "project" },
  {
    query: {
      id: "searchIndex",
      http: "GET /v1/search",
      summary: "Search the project's documents",
      description:
        "Words are matched in their language: `runs` finds `running`. A word that no document has stands for those " +
        "that are spelled nearly so. `total` is exact.",
      scope: "search:read",
      effect: "read",
      query: T.Object(queryFields),
      replies: {
        200: T.Object({
          query: T.String(),
          hits: T.Array(Hit),
          total: T.Integer(),
          facets: T.Record(T.String(), T.Array(FacetValue)),
          took_ms: T.Number(),
        }),
      },
      faults: ["invalid_parameter", "service_unavailable"],
      meters: ["searches"],
      example: { q: "getting start", limit: 10 },
    },
    suggest: {
      id: "suggestSearch",
      http: "GET /v1/search/suggest",
      summary: "Complete the beginning of a word",
      description: "The words of the project's documents that begin so, the most frequent first.",
      scope: "search:read",
      effect: "read",
      beyond: true,
      query: T.Object({
        prefix: T.String({ minLength: 1, maxLength: 64 }),
        limit: T.Optional(T.Integer({ minimum: 1, maximum: SUGGESTIONS_MAX, default: 10 })),
      }),
      replies: { 200: T.Object({ suggestions: T.Array(T.String()) }) },
      faults: ["service_unavailable"],
      example: { prefix: "sta" },
    },
    runIngest: {
      id: "runSearchIngest",
      http: "POST /v1/search/ingest/run",
      summary: "Read all enabled sources anew",
      description: "Sources of type inline have nothing to read. The reading goes on in the background.",
      scope: "search:write",
      effect: "write",
      replies: { 200: Started },
    },
    listSources: {
      id: "listSearchSources",
      http: "GET /v1/search/sources",
      summary: "List sources",
      scope: "search:read",
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(Source) },
    },
    upsertSource: {
      id: "upsertSearchSource",
      http: "POST /v1/search/sources",
      summary: "Create a source, or change the one of this id or name",
      description:
        "What is left out stays as it is, or takes its default on a new source. The type of a source never changes. " +
        "A source of type `database` takes `database:read` besides, and one of type `storage` `storage:read`.",
      scope: "search:write",
      effect: "write",
      body: T.Object({ id: T.Optional(Id), ...sourceFields }),
      replies: { 200: Source },
      faults: ["missing_scope", "invalid_parameter", "resource_not_found", "name_taken"],
      example: { name: "handbook", type: "inline" },
    },
    getSource: {
      id: "getSearchSource",
      http: "GET /v1/search/sources/{id}",
      summary: "Look at a source",
      scope: "search:read",
      effect: "read",
      beyond: true,
      params: SourceId,
      replies: { 200: Source },
      faults: ["resource_not_found"],
    },
    deleteSource: {
      id: "deleteSearchSource",
      http: "DELETE /v1/search/sources/{id}",
      summary: "Delete a source and its documents",
      description: "None of them is found from then on; they are removed in the background.",
      scope: "search:write",
      effect: "destroy",
      beyond: true,
      params: SourceId,
      replies: { 204: null },
      faults: ["resource_not_found"],
    },
    runSource: {
      id: "runSearchSource",
      http: "POST /v1/search/sources/{id}/run",
      summary: "Read one source anew",
      scope: "search:write",
      effect: "write",
      beyond: true,
      params: SourceId,
      replies: { 200: Started },
      faults: ["resource_not_found", "invalid_parameter"],
    },
    listRuns: {
      id: "listSearchRuns",
      http: "GET /v1/search/sources/{id}/runs",
      summary: "List the runs of a source",
      scope: "search:read",
      effect: "read",
      beyond: true,
      params: SourceId,
      query: PageQuery,
      replies: { 200: Page(Run) },
      faults: ["resource_not_found"],
    },
    getRun: {
      id: "getSearchRun",
      http: "GET /v1/search/runs/{id}",
      summary: "Follow a run: how far it is with each source, and which documents failed",
      scope: "search:read",
      effect: "read",
      beyond: true,
      params: T.Object({ id: Id }),
      replies: { 200: T.Object({ run_id: Id, status: OneOf(RUN_STATUSES), sources: T.Array(Run) }) },
      faults: ["resource_not_found"],
    },
    putDocuments: {
      id: "putSearchDocuments",
      http: "POST /v1/search/sources/{id}/documents",
      summary: "Add documents to an inline source, or replace those of the same id",
      description:
        "They can be found when this answers. A document that cannot be indexed is named; the others are written.",
      scope: "search:write",
      effect: "write",
      transaction: "none",
      idempotent: "naturally",
      beyond: true,
      params: SourceId,
      body: T.Object({ documents: T.Array(Document, { minItems: 1, maxItems: SEARCH_DOCUMENTS_MAX }) }),
      bodyBytesMax: BODY_BYTES_MAX,
      replies: {
        200: T.Object({
          written: T.Integer(),
          unchanged: T.Integer(),
          errors: T.Array(T.Object({ document_id: T.String(), message: T.String() })),
        }),
      },
      faults: ["invalid_parameter", "resource_not_found", "service_unavailable"],
      example: { documents: [{ id: "1", title: "Welcome", text: "Getting started with search" }] },
    },
    deleteDocuments: {
      id: "deleteSearchDocuments",
      http: "POST /v1/search/sources/{id}/documents/delete",
      summary: "Remove documents from an inline source",
      scope: "search:write",
      effect: "destroy",
      transaction: "none",
      idempotent: "naturally",
      beyond: true,
      params: SourceId,
      body: T.Object({ ids: T.Array(DocumentId, { minItems: 1, maxItems: SEARCH_DOCUMENTS_MAX }) }),
      replies: { 200: T.Object({ deleted: T.Integer() }) },
      faults: ["invalid_parameter", "resource_not_found", "service_unavailable"],
      example: { ids: ["1"] },
    },
    stats: {
      id: "getSearchStats",
      http: "GET /v1/search/stats",
      summary: "How much there is to search, and how fresh it is",
      scope: "search:read",
      effect: "read",
      replies: { 200: Stats },
      faults: ["service_unavailable"],
    },
  },
)
