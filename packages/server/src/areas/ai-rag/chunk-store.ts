import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Chunk } from "./reading/chunks.ts"

export interface NewChunk extends Chunk {
  readonly id: string
  readonly embedding: Buffer
}

/** What made the vectors. */
export interface Embedding {
  readonly model: string
  readonly dimensions: number
}

/** Which documents are looked through. */
export interface Scope {
  readonly docIds: readonly string[] | undefined
  /** The text of a JSON object that their metadata contains. */
  readonly metadata: string | undefined
}

export interface FoundChunk {
  readonly document_id: string
  readonly id: string
  readonly document: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly text: string
  readonly heading: string | null
  readonly page: number | null
  readonly start_at: number
  readonly end_at: number
}

export interface Scored {
  readonly id: string
  readonly score: number
}

const INSERTED_AT_ONCE = 500
/** BM25's usual parameters. */
const K1 = 1.2
const B = 0.75

/** The words of headings find a chunk too. */
const indexed = sql`to_tsvector('pg_catalog.english', coalesce(given.heading, '') || E'\n' || given.text)`

/** Chunks of a project. Every statement names the project first. */
export const chunkStore = (db: Db) => {
  const within = (projectId: string, { docIds, metadata }: Scope) => sql`
    chunk.project_id = ${projectId}
    ${docIds === undefined ? sql`` : sql`AND chunk.document_id = ANY (${docIds}::uuid[])`}
    ${
      metadata === undefined
        ? sql``
        : sql`AND chunk.document_id IN (
            SELECT id FROM ai_rag.documents
            WHERE project_id = ${projectId} AND metadata @> ${metadata}::jsonb)`
    }`

  return {
    /** What the document has from now on, in place of what it had. */
    async replace(
      projectId: string,
      documentId: string,
      chunks: readonly NewChunk[],
      { model, dimensions }: Embedding,
    ): Promise<void> {
      await db
        .deleteFrom("ai_rag.chunks")
        .where("project_id", "=", projectId)
        .where("document_id", "=", documentId)
        .execute()
      for (let at = 0; at < chunks.length; at += INSERTED_AT_ONCE) {
        const some = chunks.slice(at, at + INSERTED_AT_ONCE)
        await sql`
          INSERT INTO ai_rag.chunks (project_id, document_id, id, text, heading, page, start_at, end_at, lexemes, length,
            embedding_model, embedding_dimensions, embedding)
          SELECT ${projectId}, ${documentId}, given.id, given.text, given.heading, given.page, given.start_at, given.end_at,
            words.lexemes, (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(words.lexemes)),
            ${model}, ${dimensions}, given.embedding
          FROM unnest(${some.map(({ id }) => id)}::uuid[], ${some.map(({ text }) => text)}::text[],
            ${some.map(({ heading }) => heading)}::text[], ${some.map(({ page }) => page)}::integer[],
            ${some.map(({ start }) => start)}::integer[], ${some.map(({ end }) => end)}::integer[],
            ${some.map(({ embedding }) => embedding)}::bytea[])
            AS given (id, text, heading, page, start_at, end_at, embedding)
          CROSS JOIN LATERAL (SELECT ${indexed} AS lexemes) AS words`.execute(db)
      }
    },

    count: async (projectId: string, scope: Scope): Promise<number> => {
      const { rows } = await sql<{ count: number }>`
        SELECT count(*)::integer AS count FROM ai_rag.chunks AS chunk WHERE ${within(projectId, scope)}`.execute(
        db,
      )
      return rows[0]?.count ?? 0
    },

    /** By BM25, the best first. Chunks that have none of the words are not among them. */
    async byWords(projectId: string, scope: Scope, query: string, limit: number): Promise<Scored[]> {
      const { rows } = await sql<Scored>`
        WITH asked AS MATERIALIZED (
          SELECT tsvector_to_array(to_tsvector('pg_catalog.english', ${query})) AS lexemes
        ), corpus AS (
          SELECT count(*)::float8 AS chunks, greatest(avg(length), 1)::float8 AS length
          FROM ai_rag.chunks AS chunk WHERE ${within(projectId, scope)}
        ), hit AS (
          SELECT chunk.id, chunk.length, word.lexeme, cardinality(word.positions)::float8 AS frequency
          FROM asked, ai_rag.chunks AS chunk CROSS JOIN LATERAL unnest(chunk.lexemes) AS word
          WHERE ${within(projectId, scope)}
            AND ai_rag.scoped(chunk.project_id, tsvector_to_array(chunk.lexemes)) && ai_rag.scoped(${projectId}, asked.lexemes)
            AND word.lexeme = ANY (asked.lexemes)
        ), weight AS (
          SELECT lexeme, ln(1 + (corpus.chunks - count(*) + 0.5) / (count(*) + 0.5)) AS idf
          FROM hit, corpus GROUP BY lexeme, corpus.chunks
        )
        SELECT hit.id, sum(weight.idf * hit.frequency * ${K1 + 1}::float8 /
          (hit.frequency + ${K1}::float8 * (${1 - B}::float8 + ${B}::float8 * hit.length / corpus.length))) AS score
        FROM hit JOIN weight USING (lexeme), corpus
        GROUP BY hit.id ORDER BY score DESC, hit.id LIMIT ${limit}`.execute(db)
      return rows
    },

    /** A page of vectors in the order of documents and ids. */
    vectors: async (
      projectId: string,
      scope: Scope,
      { model }: Embedding,
      after: { readonly document_id: string; readonly id: string } | undefined,
      limit: number,
    ) => {
      const { rows } = await sql<{ document_id: string; id: string; embedding: Buffer }>`
        SELECT document_id, id, embedding FROM ai_rag.chunks AS chunk
        WHERE ${within(projectId, scope)} AND embedding_model = ${model}
          ${after === undefined ? sql`` : sql`AND (document_id, id) > (${after.document_id}, ${after.id})`}
        ORDER BY document_id, id LIMIT ${limit}`.execute(db)
      return rows
    },

    /** In no order. */
    async load(projectId: string, ids: readonly string[]): Promise<FoundChunk[]> {
      const { rows } = await sql<FoundChunk>`
        SELECT chunk.document_id, chunk.id, document.name AS document, document.metadata,
          chunk.text, chunk.heading, chunk.page, chunk.start_at, chunk.end_at
        FROM ai_rag.chunks AS chunk
        JOIN ai_rag.documents AS document ON document.project_id = chunk.project_id AND document.id = chunk.document_id
        WHERE chunk.project_id = ${projectId} AND chunk.id = ANY (${ids}::uuid[])`.execute(db)
      return rows
    },
  }
}
