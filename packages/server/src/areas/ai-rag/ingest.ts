/** Reads uploaded files in the background. Its chunks become searchable all at once. */
import { buffer } from "node:stream/consumers"
import type { Clock } from "../../kernel/clock.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import type { Job, JobContext, Jobs } from "../../kernel/jobs/jobs.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import { PortError } from "../../ports/port-error.ts"
import { chunkStore } from "./chunk-store.ts"
import type { Embedder } from "./embedder.ts"
import { tokensOf } from "./reading/chunks.ts"
import { readInThread } from "./reading/reader.ts"
import { UnreadableFile } from "./reading/text-blocks.ts"
import { type DocumentRecord, documentStore } from "./store.ts"

const QUEUE = "rag.read"
/** Each takes a thread and its memory. */
const CONCURRENCY = 2
const RUN_MS_MAX = 10 * 60_000
const RETRIES_MS = [5_000, 60_000, 300_000]

interface ReadPayload {
  readonly projectId: string
  readonly docId: string
}

export interface IngestNeeds {
  readonly database: Database
  readonly jobs: Jobs
  readonly clock: Clock
  readonly blob: BlobPort
  readonly embedder: Embedder
}

export interface Ingest {
  /** On the transaction that stores the document. */
  enqueue(db: Db, document: { readonly organizationId: string } & ReadPayload): Promise<void>
}

const NOT_READ = {
  pages: null,
  chunks: 0,
  tokens: 0,
  embedding_model: null,
  embedding_dimensions: null,
}

export const bytesOf = (vector: Float32Array): Buffer =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

export const createIngest = ({ database, jobs, clock, blob, embedder }: IngestNeeds): Ingest => {
  const now = () => new Date(clock.now())

  /** The blob's owner is the document: its bytes are shared with nothing else. */
  const fetchFile = async ({ id, address }: DocumentRecord): Promise<Buffer> => {
    if (address === null) throw new UnreadableFile("its file is gone; upload it again")
    try {
      return await buffer(await blob.read(id, address))
    } catch (error) {
      if (error instanceof PortError && error.kind === "missing")
        throw new UnreadableFile("its file is gone; upload it again")
      throw error
    }
  }

  const index = async (document: DocumentRecord, signal: AbortSignal): Promise<void> => {
    const { project_id: projectId, id } = document
    const { chunks, pages } = await readInThread(await fetchFile(document), document.format, signal)
    const { vectors, model, dimensions } = await embedder.embed(chunks.map(({ text }) => text))
    signal.throwIfAborted()
    const rows = chunks.map((chunk, at) => ({
      ...chunk,
      id: newId(clock.now()),
      embedding: bytesOf(vectors[at] ?? new Float32Array(dimensions)),
    }))
    const result = {
      status: "ready",
      status_reason: null,
      pages,
      chunks: chunks.length,
      tokens: chunks.reduce((sum, { text }) => sum + tokensOf(text), 0),
      embedding_model: model,
      embedding_dimensions: dimensions,
    } as const
    await database.transaction(async tx => {
      if (!(await documentStore(tx).finish(projectId, id, result, now()))) return
      await chunkStore(tx).replace(projectId, id, rows, { model, dimensions })
    })
  }

  const fail = async ({ project_id, id }: DocumentRecord, reason: string): Promise<void> => {
    const result = { ...NOT_READ, status: "failed", status_reason: reason } as const
    await documentStore(database.db).finish(project_id, id, result, now())
  }

  const run = async (
    { payload: { projectId, docId }, isLastAttempt }: Job<ReadPayload>,
    { signal }: JobContext,
  ): Promise<void> => {
    const document = await documentStore(database.db).take(projectId, docId, now())
    if (!document) return
    try {
      await index(document, signal)
    } catch (error) {
      const isOfFile = error instanceof UnreadableFile
      if (!isOfFile && (!isLastAttempt || signal.aborted)) throw error
      await fail(document, isOfFile ? error.message : "it could not be read, in several attempts")
    }
    if (document.address !== null) await blob.remove(docId, [document.address])
  }

  jobs.define<ReadPayload>({
    name: QUEUE,
    concurrency: CONCURRENCY,
    perTenantConcurrency: CONCURRENCY,
    timeoutMs: RUN_MS_MAX,
    retries: RETRIES_MS,
    run,
  })

  return {
    enqueue: (db, { organizationId, projectId, docId }) =>
      jobs.enqueue(db, {
        queue: QUEUE,
        tenantId: organizationId,
        orderingKey: docId,
        payload: { projectId, docId },
      }),
  }
}
