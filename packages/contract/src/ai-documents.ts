import {
  DOCUMENT_FORMATS,
  DocumentFormatPayload,
  DocumentPayload,
  DocumentPreview,
  DocumentPreviewRequest,
  DocumentRequest,
  DocumentRevision,
  DocumentStatus,
  DocumentSummary,
  DocumentTemplate,
  DocumentVersion,
} from "./ai-documents-fields.ts"
import { area, T } from "./dsl.ts"
import { Id, OneOf, Page, PageQuery } from "./types.ts"

const DocumentId = T.Object({ doc_id: Id })

const WRITE_FAULTS = ["invalid_parameter", "all_providers_exhausted"] as const

export const aiDocuments = area(
  "aiDocuments",
  {
    title: "Documents",
    summary: "Office documents, PDF and text files from Markdown or templates, in versions",
    project: "required",
    belongs: "project",
  },
  {
    create: {
      id: "createDocgen",
      http: "POST /v1/ai/docgen/create",
      summary: "Make a document",
      description:
        "From Markdown, or from a template and data. What stays is the text and not the file: `download` gives any version in any format. " +
        "A `prompt` needs a language model.",
      scope: "ai:infer",
      effect: "write",
      transaction: "none",
      body: DocumentRequest,
      replies: { 200: DocumentPayload },
      faults: WRITE_FAULTS,
      example: { format: "docx", content: "# Offer\n\nA hundred apples at **2 €** each." },
    },
    download: {
      id: "downloadDocgen",
      http: "GET /v1/ai/docgen/download/{doc_id}",
      summary: "Download a document",
      scope: "ai:infer",
      effect: "read",
      content: { reply: "bytes", replyTypes: ["application/octet-stream", "*/*"] },
      params: DocumentId,
      query: T.Object({
        version: T.Optional(T.Integer({ minimum: 1, description: "The latest when left out" })),
        format: T.Optional(
          OneOf(DOCUMENT_FORMATS, { description: "The format that it was made in when left out" }),
        ),
      }),
      replies: { 200: T.Unknown() },
      faults: ["document_not_found", "invalid_parameter"],
    },
    formats: {
      id: "listDocgenFormats",
      http: "GET /v1/ai/docgen/formats",
      summary: "List the formats of documents",
      scope: "ai:infer",
      effect: "read",
      replies: {
        200: T.Object({ formats: T.Array(DocumentFormatPayload, { description: "All of them" }) }),
      },
    },
    history: {
      id: "getDocgenHistory",
      http: "GET /v1/ai/docgen/history",
      summary: "List the documents",
      scope: "ai:infer",
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(DocumentSummary) },
    },
    preview: {
      id: "previewDocgen",
      http: "POST /v1/ai/docgen/preview",
      summary: "Show what a document would be, without making it",
      scope: "ai:infer",
      effect: "read",
      body: DocumentPreviewRequest,
      replies: { 200: DocumentPreview },
      faults: ["invalid_parameter", "all_providers_exhausted"],
      example: { content: "# Offer\n\nA hundred apples at **2 €** each." },
    },
    revise: {
      id: "reviseDocgen",
      http: "POST /v1/ai/docgen/revise",
      summary: "Make the next version of a document",
      description:
        "The edits apply in their order, all of them or none. Earlier versions stay as they are. An `instruction` needs a language model.",
      scope: "ai:infer",
      effect: "write",
      transaction: "none",
      body: DocumentRevision,
      replies: { 200: DocumentPayload },
      faults: ["document_not_found", "conflict", ...WRITE_FAULTS],
    },
    status: {
      id: "getDocgenStatus",
      http: "GET /v1/ai/docgen/status",
      summary: "Show what documents can be made of",
      scope: "ai:infer",
      effect: "read",
      replies: { 200: DocumentStatus },
    },
    templates: {
      id: "listDocgenTemplates",
      http: "GET /v1/ai/docgen/templates",
      summary: "List the templates",
      scope: "ai:infer",
      effect: "read",
      replies: { 200: T.Object({ templates: T.Array(DocumentTemplate, { description: "All of them" }) }) },
    },
    versions: {
      id: "listDocgenVersions",
      http: "GET /v1/ai/docgen/versions/{doc_id}",
      summary: "List the versions of a document",
      scope: "ai:infer",
      effect: "read",
      params: DocumentId,
      query: PageQuery,
      replies: { 200: Page(DocumentVersion) },
      faults: ["document_not_found"],
    },
    delete: {
      extension: true,
      id: "deleteDocgen",
      http: "DELETE /v1/ai/docgen/documents/{doc_id}",
      summary: "Delete a document with all its versions",
      scope: "ai:infer",
      effect: "destroy",
      params: DocumentId,
      replies: { 204: null },
      faults: ["document_not_found"],
    },
  },
)
