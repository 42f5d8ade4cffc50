/** What requests and replies of search are made of. */
import { MIB, T } from "./dsl.ts"
import { described, Id, Name, Nullable, OneOf, pageQuery, Time } from "./types.ts"

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
/** UTF-8 bytes of all fields of one document. */
export const SEARCH_DOCUMENT_BYTES_MAX = MIB
/** Characters of one document that are indexed; the rest is not. */
export const SEARCH_INDEXED_CHARACTERS_MAX = 100_000
export const SEARCH_METADATA_BYTES_MAX = 16 * 1024
/** Documents of one write or delete. */
export const SEARCH_DOCUMENTS_MAX = 1000
export const SEARCH_SOURCES_MAX = 100
/** Errors of a run that are stored, one per document; all are counted. */
export const SEARCH_RUN_ERRORS_MAX = 100
/** Addresses of a source of type url. */
export const SEARCH_URLS_MAX = 1000

const SCHEDULE_SECONDS_MIN = 60
const SCHEDULE_SECONDS_MAX = 30 * 86_400
const FIELDS_MAX = 20
export const BODY_BYTES_MAX = 10 * MIB
const FILTER_LENGTH_MAX = 4000
export const SUGGESTIONS_MAX = 20

export const SourceId = T.Object({ id: Id })
const Language = OneOf(SEARCH_LANGUAGES, {
  description: "Language of the text, whose word forms are matched; `english` when left out",
})
export const DocumentId = T.String({
  minLength: 1,
  maxLength: SEARCH_DOCUMENT_ID_LENGTH_MAX,
  description: "Id of the document, unique in its source",
})

const Path = T.String({
  minLength: 1,
  maxLength: 256,
  description: "Field of the document; dots lead into objects, as in `metadata.author`",
})

const Field = T.Object(
  {
    path: described(Path, "Field of the document"),
    weight: T.Optional(T.Integer({ minimum: 1, maximum: 4, default: 1, description: "4 counts most" })),
  },
  { additionalProperties: false },
)

const Config = T.Record(T.String(), T.Unknown(), {
  description:
    "What is read. `inline`: nothing. `database`: `{database_id?, branch_id?, table, title?, url?, metadata?}`, " +
    "where table is `name` or `schema.name` and has a primary key, title and url are columns, and metadata is a list of " +
    "columns. `storage`: `{bucket, prefix?}`. `url`: `{urls}`, at most 1,000.",
})

export const sourceFields = {
  name: Name,
  type: OneOf(SEARCH_SOURCE_TYPES, { description: "Where documents come from; it cannot be changed" }),
  config: T.Optional(described(Config, "What is read, as it was given")),
  fields: T.Optional(
    T.Array(Field, {
      minItems: 1,
      maxItems: FIELDS_MAX,
      description:
        "What of a document is searched; the title with weight 4 and the text with weight 1 when left out",
    }),
  ),
  language: T.Optional(Language),
  schedule: T.Optional(
    Nullable(
      T.Integer({
        minimum: SCHEDULE_SECONDS_MIN,
        maximum: SCHEDULE_SECONDS_MAX,
        description: "Seconds from the start of a run to the next; null: only on request",
      }),
    ),
  ),
  enabled: T.Optional(
    T.Boolean({
      description: "False: its documents can be found, but it is not read anew; true when left out",
    }),
  ),
}

export const RUN_STATUSES = ["queued", "running", "succeeded", "failed"] as const

export const Source = T.Object({
  id: Id,
  name: Name,
  type: OneOf(SEARCH_SOURCE_TYPES, { description: "Where documents come from" }),
  config: T.Record(T.String(), T.Unknown(), { description: "What is read, as it was given" }),
  fields: T.Array(
    T.Object({
      path: T.String({ description: "Field of the document" }),
      weight: T.Integer({ description: "Importance from 1 to 4; 4 counts most" }),
    }),
    { description: "What of a document is searched" },
  ),
  language: Language,
  schedule: Nullable(T.Integer(), {
    description: "Seconds from the start of a run to the next; null: only on request",
  }),
  enabled: T.Boolean({ description: "False: its documents can be found, but it is not read anew" }),
  status: OneOf(["idle", ...RUN_STATUSES], { description: "State of the last run; `idle` before the first" }),
  document_count: T.Integer({ description: "Number of documents that can be found" }),
  last_run_at: Nullable(Time, { description: "RFC 3339 time in UTC; null before the first run" }),
  last_error: Nullable(T.String(), { description: "Why the last run failed; null if it did not" }),
  created_at: Time,
  updated_at: Time,
})

const runFields = {
  run_id: Id,
  source_id: Id,
  status: OneOf(RUN_STATUSES, { description: "State of the run" }),
}

export const Run = T.Object({
  ...runFields,
  seen: T.Integer({ description: "Documents read so far" }),
  written: T.Integer({ description: "Documents of these that are new or changed" }),
  unchanged: T.Integer({ description: "Documents of these that did not change" }),
  failed: T.Integer({
    description: "Documents of these that could not be indexed and are missing or outdated",
  }),
  removed: T.Integer({ description: "Documents that the source no longer has" }),
  errors: T.Array(
    T.Object({
      document_id: T.String({ description: "Id of the document" }),
      message: T.String({ description: "Why it could not be indexed" }),
    }),
    {
      description: "First 100 documents that could not be indexed",
    },
  ),
  error: Nullable(T.String({ description: "Why the whole run failed; null if it did not" })),
  created_at: Time,
  started_at: Nullable(Time, { description: "RFC 3339 time in UTC; null before it starts" }),
  finished_at: Nullable(Time, { description: "RFC 3339 time in UTC; null before it ends" }),
})

export const Started = T.Object({
  run_id: Id,
  status: OneOf(RUN_STATUSES, { description: "State of all runs together" }),
  sources: T.Array(T.Object(runFields), {
    description: "One entry for each source; a source that is being read already keeps its run_id",
  }),
})

const Metadata = T.Record(T.String(), T.Unknown(), { description: "JSON object of at most 16 KiB" })

export const Document = T.Object(
  {
    id: DocumentId,
    title: T.Optional(T.String()),
    text: T.Optional(
      T.String({ description: "Text of the document; the first 100,000 characters are searched" }),
    ),
    url: T.Optional(T.String({ maxLength: 2048, description: "Address of the document, http or https" })),
    metadata: T.Optional(Metadata),
    language: T.Optional(Language),
    boost: T.Optional(
      T.Number({ minimum: 0.01, maximum: 100, default: 1, description: "Factor of its score" }),
    ),
  },
  { additionalProperties: false },
)

export const Hit = T.Object({
  id: T.String({ description: "Id of the document in its source" }),
  source_id: Id,
  title: T.String({ description: "Title as plain text, to be escaped for HTML" }),
  snippet: T.String({
    description: "Excerpt as safe HTML: `<mark>` around matches, everything else escaped",
  }),
  url: Nullable(T.String({ description: "Address of the document, http or https" })),
  score: T.Number({ description: "How well it matches; comparable within one reply" }),
  metadata: T.Record(T.String(), T.Unknown(), { description: "Metadata of the document" }),
})

export const FacetValue = T.Object({
  value: T.Union([T.String(), T.Number(), T.Boolean()], { description: "A value" }),
  count: T.Integer({ description: "Matching documents with this value" }),
})

export const queryFields = {
  q: T.Optional(
    T.String({
      maxLength: SEARCH_QUERY_LENGTH_MAX,
      description:
        'Words; `"a phrase"`; `-without`. The last word may be incomplete. Left out: the newest documents',
    }),
  ),
  ...pageQuery,
  limit: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 200,
      default: SEARCH_LIMIT_DEFAULT,
      description: "Largest number of hits",
    }),
  ),
  offset: T.Optional(
    T.Integer({ minimum: 0, maximum: 10_000, default: 0, description: "Number of hits to skip" }),
  ),
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
  language: T.Optional(described(Language, "Language of `q`; `english` when left out")),
  highlight: T.Optional(T.Boolean({ default: true, description: "Mark what was found in `snippet`" })),
}

export const Stats = T.Object({
  documents: T.Integer({ description: "Documents that can be found" }),
  sources: T.Integer({ description: "Number of sources" }),
  index_bytes: Nullable(
    T.Integer({ description: "Size of the index; null if the engine does not report it per project" }),
  ),
  last_ingest_at: Nullable(Time, {
    description: "RFC 3339 time in UTC when a source was last read; null before",
  }),
  pending: T.Integer({ description: "Runs that are queued or running" }),
  tts_p95_ms: Nullable(
    T.Number({
      description:
        "Milliseconds within which 95 % of the latest documents could be found after they were read; null before",
    }),
  ),
})
