import { areas, page, pageOf, RAG_FORMATS, type RagDocumentPayload } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import type { Embedder } from "./embedder.ts"
import type { createQuery } from "./query.ts"
import { type DocumentRecord, documentStore } from "./store.ts"
import type { createUpload } from "./upload.ts"

export interface RagHandlerNeeds {
  readonly blob: BlobPort
  readonly embedder: Embedder
  readonly upload: ReturnType<typeof createUpload>
  readonly query: ReturnType<typeof createQuery>
}

const payloadOf = (document: DocumentRecord): RagDocumentPayload => ({
  doc_id: document.id,
  name: document.name,
  content_type: document.content_type,
  size: document.size,
  sha256: document.sha256.toString("hex"),
  status: document.status,
  status_reason: document.status_reason,
  pages: document.pages,
  chunks: document.chunks,
  tokens: document.tokens,
  embedding_model: document.embedding_model,
  embedding_dimensions: document.embedding_dimensions,
  metadata: document.metadata,
  created_at: document.created_at.toISOString(),
  updated_at: document.updated_at.toISOString(),
})

export const ragHandlers = implement(areas.rag, ({ blob, embedder, upload, query }: RagHandlerNeeds) => ({
  upload: async (_input, call) => payloadOf(await upload(call)),

  async documents(input, { db, projectTenant }) {
    const { rows, total } = await documentStore(db).list(projectTenant.projectId, input.status, pageOf(input))
    return page({ rows: rows.map(payloadOf), total }, input)
  },

  async deleteDocument({ doc_id }, call) {
    const { projectId } = call.projectTenant
    const document = await requireRow(
      documentStore(call.db).remove(projectId, doc_id),
      "resource_not_found",
      {
        id: doc_id,
      },
    )
    call.describe({ targets: [{ type: "rag_document", id: doc_id, name: document.name }] })
    if (document.address !== null) await blob.remove(doc_id, [document.address])
    return { doc_id, deleted: true }
  },

  query: (input, call) => query(input, call),

  async status(_input, { db, projectTenant }) {
    const { counts, chunks, tokens, bytes } = await documentStore(db).totals(projectTenant.projectId)
    const { model, dimensions } = await embedder.embed([])
    return {
      documents: counts,
      chunks,
      tokens,
      bytes,
      embedding_model: model,
      embedding_dimensions: dimensions,
      formats: [...RAG_FORMATS],
    }
  },
}))
