/** Retrieval: documents of a project, cut into chunks and found by words and by vectors. */
import { area, MIB, type Static, T } from "./dsl.ts"
import { Id, Nullable, OneOf, Page, pageQuery, Time } from "./types.ts"

/** Bytes of one uploaded file. */
export const RAG_FILE_BYTES_MAX = 25 * MIB
/** Documents of one project. */
export const RAG_DOCUMENTS_MAX = 10_000
/** Chunks of one document. */
export const RAG_CHUNKS_MAX = 10_000
export const RAG_METADATA_BYTES_MAX = 16 * 1024
export const RAG_TOP_K_DEFAULT = 5
export const RAG_FORMATS = ["pdf", "docx", "pptx", "xlsx", "odt", "html", "md", "txt", "csv", "json"] as const
export type RagFormat = (typeof RAG_FORMATS)[number]
export const RAG_STATUSES = ["queued", "processing", "ready", "failed"] as const
export type RagStatus = (typeof RAG_STATUSES)[number]
export const RAG_MODES = ["hybrid", "bm25", "vector"] as const
export type RagMode = (typeof RAG_MODES)[number]

const TOP_K_MAX = 100
const QUERY_LENGTH_MAX = 4_000
const DOC_IDS_MAX = 100
const FILTERS_MAX = 20

const DocId = T.Object({ doc_id: Id })
const Metadata = T.Record(T.String(), T.Unknown(), { description: "What was given at the upload" })

export const RagDocument = T.Object({
  doc_id: Id,
  name: T.String({ description: "Name of the file, or the `name` of the upload" }),
  content_type: T.String({
    description: "Media type of what the bytes are, whatever the upload called them",
  }),
  size: T.Integer({ description: "Bytes of the file" }),
  sha256: T.String({ description: "Digest of the file, in hexadecimal" }),
  status: OneOf(RAG_STATUSES, { description: "Only chunks of documents that are `ready` are found" }),
  status_reason: Nullable(T.String(), { description: "Why it is `failed`; null otherwise" }),
  pages: Nullable(T.Integer(), { description: "Pages, slides or sheets; null where the format has none" }),
  chunks: T.Integer({ description: "Number of chunks; 0 until it is `ready`" }),
  tokens: T.Integer({ description: "Tokens of all chunks, estimated at four characters each" }),
  embedding_model: Nullable(T.String(), { description: "What made the vectors of its chunks" }),
  embedding_dimensions: Nullable(T.Integer(), { description: "Length of these vectors" }),
  metadata: Metadata,
  created_at: Time,
  updated_at: Time,
})
export type RagDocumentPayload = Static<typeof RagDocument>

const Match = T.Object({
  doc_id: Id,
  chunk_id: Id,
  document: T.String({ description: "Name of the document" }),
  text: T.String({ description: "The chunk, as it stands in the text of the document" }),
  score: T.Number({ description: "1 for the best that the mode can give; the order of the matches" }),
  scores: T.Object(
    {
      bm25: Nullable(T.Number(), { description: "BM25; null where no word of the query is in the chunk" }),
      vector: Nullable(T.Number(), {
        description: "Cosine of the vectors; null where they were not compared",
      }),
      rrf: Nullable(T.Number(), { description: "Sum of 1 / (60 + rank); null for the modes of one ranking" }),
    },
    { description: "What each ranking gave it" },
  ),
  metadata: T.Object(
    {
      page: Nullable(T.Integer(), { description: "Page, slide or sheet on which it begins, from 1" }),
      heading: Nullable(T.String(), { description: "Headings above it, joined by ` > `" }),
      start: T.Integer({ description: "Where it begins in the text of the document, in UTF-16 units" }),
      end: T.Integer({ description: "Where it ends" }),
      document: Metadata,
    },
    { description: "Where it stands in its document" },
  ),
})

const Answer = T.Object(
  {
    text: T.String({ description: "Sentences of the matches, each followed by the number of its citation" }),
    method: T.String({ description: "`embedded`: no model has written it" }),
    technique: T.String({ description: "`extractive`: the sentences stand so in the documents" }),
    citations: T.Array(
      T.Object({
        n: T.Integer({ description: "Its number in the text" }),
        doc_id: Id,
        chunk_id: Id,
        page: Nullable(T.Integer(), { description: "Page, slide or sheet; null where the format has none" }),
        start: T.Integer({ description: "Where the sentence begins in the text of the document" }),
        end: T.Integer({ description: "Where it ends" }),
        quote: T.String({ description: "The sentence" }),
      }),
      { description: "Where the sentences stand" },
    ),
  },
  { description: "The sentences of the matches that answer best; present where `include_answer` is true" },
)

const queryBody = {
  query: T.String({ minLength: 1, maxLength: QUERY_LENGTH_MAX, description: "Question or words" }),
  top_k: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: TOP_K_MAX,
      default: RAG_TOP_K_DEFAULT,
      description: "Largest number of matches",
    }),
  ),
  mode: T.Optional(
    OneOf(RAG_MODES, {
      default: "hybrid",
      description: "`bm25`: by words; `vector`: by the nearest vectors; `hybrid`: by the ranks in both",
    }),
  ),
  doc_ids: T.Optional(
    T.Array(Id, { minItems: 1, maxItems: DOC_IDS_MAX, description: "Only these documents" }),
  ),
  filter: T.Optional(
    T.Record(T.String(), T.Union([T.String(), T.Number(), T.Boolean(), T.Null()]), {
      maxProperties: FILTERS_MAX,
      description: "Only documents whose metadata has all these values",
    }),
  ),
  min_score: T.Optional(
    T.Number({
      minimum: 0,
      maximum: 1,
      description: "Only matches whose `score` is at least this. Default: 0",
    }),
  ),
  include_answer: T.Optional(
    T.Boolean({ default: false, description: "Whether the sentences that answer best are picked out" }),
  ),
}

export const rag = area(
  "rag",
  {
    title: "Retrieval",
    summary: "Documents, found by words and by vectors, with citations",
    project: "required",
    belongs: "project",
  },
  {
    upload: {
      id: "uploadRagDocument",
      http: "POST /v1/ai/rag/upload",
      summary: "Upload a document to be found",
      description:
        "`multipart/form-data` with `file`, and optionally `name` and `metadata` (a JSON object). What the file is, its " +
        "bytes tell. It is read in the background: `status` goes from `queued` over `processing` to `ready`, or to `failed` " +
        "with the reason. The same bytes are one document: uploaded again, they are not read again unless reading failed.",
      scope: "ai:infer",
      effect: "write",
      transaction: "none",
      idempotency: "natural",
      content: { request: "multipart" },
      bodyBytesMax: RAG_FILE_BYTES_MAX + MIB,
      replies: { 200: RagDocument },
      faults: [
        "invalid_parameter",
        "missing_parameter",
        "unsupported_media_type",
        "payload_too_large",
        "plan_limit_reached",
        "service_unavailable",
      ],
    },
    documents: {
      id: "listRagDocuments",
      http: "GET /v1/ai/rag/documents",
      summary: "List the documents",
      scope: "ai:infer",
      effect: "read",
      query: T.Object({
        ...pageQuery,
        status: T.Optional(OneOf(RAG_STATUSES, { description: "Only documents of this status" })),
      }),
      replies: { 200: Page(RagDocument) },
    },
    deleteDocument: {
      id: "deleteRagDocument",
      http: "DELETE /v1/ai/rag/documents/{doc_id}",
      summary: "Delete a document and its chunks",
      scope: "ai:infer",
      effect: "destroy",
      params: DocId,
      replies: {
        200: T.Object({
          doc_id: Id,
          deleted: T.Boolean({ description: "true: nothing of it is found any more" }),
        }),
      },
      faults: ["resource_not_found"],
    },
    query: {
      id: "queryRag",
      http: "POST /v1/ai/rag/query",
      summary: "Find the passages that answer a question",
      description:
        "By BM25 over the words, by the nearest vectors, or by both rankings, fused by reciprocal rank. Every match says where " +
        "it stands. Without a model of meaning the vectors compare words and parts of words; `embedding_model` names what made them.",
      scope: "ai:infer",
      effect: "read",
      body: T.Object(queryBody),
      replies: {
        200: T.Object({
          matches: T.Array(Match, { description: "The best first" }),
          answer: T.Optional(Answer),
          mode: OneOf(RAG_MODES, { description: "How the matches were ranked" }),
          method: T.String({ description: "`embedded`: the platform's own engines" }),
          embedding_model: T.String({ description: "What made the vectors" }),
          usage: T.Object(
            {
              chunks_searched: T.Integer({ description: "Chunks that were looked through" }),
              query_tokens: T.Integer({ description: "Words of the query" }),
            },
            { description: "What the query took" },
          ),
        }),
      },
      faults: ["ai_daily_limit_exceeded"],
      meters: ["ai_requests"],
      example: { query: "How many days of holiday are there?", top_k: 3 },
    },
    status: {
      id: "getRagStatus",
      http: "GET /v1/ai/rag/status",
      summary: "Show how many documents there are and how far reading them is",
      scope: "ai:infer",
      effect: "read",
      replies: {
        200: T.Object({
          documents: T.Object(
            {
              queued: T.Integer({ description: "Waiting to be read" }),
              processing: T.Integer({ description: "Being read" }),
              ready: T.Integer({ description: "Found by queries" }),
              failed: T.Integer({ description: "Could not be read; each says why" }),
            },
            { description: "Number of documents, by status" },
          ),
          chunks: T.Integer({ description: "Chunks that can be found" }),
          tokens: T.Integer({ description: "Tokens of all chunks, estimated" }),
          bytes: T.Integer({ description: "Bytes of all files that were read" }),
          embedding_model: T.String({ description: "What makes vectors now" }),
          embedding_dimensions: T.Integer({ description: "Length of these vectors" }),
          formats: T.Array(T.String(), { description: "What can be read" }),
        }),
      },
    },
  },
)
