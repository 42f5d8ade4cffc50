import type pg from "pg"
import { withoutTags } from "../../html.ts"
import type { SearchDocument, Weight } from "../../port.ts"

/** One number, known to every version of Svc: writers of one owner take turns, so that counts of words stay right. */
const WRITER_LOCK = 5_763_004

const LOCK = "SELECT pg_advisory_xact_lock($2, hashtext($1))"

/** Words that no document has any more, of a statement that gives `word` and `documents` as `changed`. */
const LOST = "(SELECT array_agg(word) FROM changed WHERE documents <= 0)"

const GIVEN = `
  given AS MATERIALIZED (
    SELECT * FROM json_to_recordset($2) AS g(
      source_id uuid, id text, title text, body text, a text, b text, c text, d text,
      url text, metadata jsonb, language text, boost real, updated_at timestamptz)
  )`

const COUNT_WORDS = `
  WITH ${GIVEN}, old AS (
    SELECT o.title, o.body FROM given g
    JOIN search.documents o ON o.project_id = $1 AND o.source_id = g.source_id AND o.id = g.id
  ), deltas AS (
    SELECT word, sum(n) AS n FROM (
      SELECT word, 1 AS n FROM given g, search.words_of(g.title || ' ' || g.body) AS word
      UNION ALL SELECT word, -1 FROM old o, search.words_of(o.title || ' ' || o.body) AS word
    ) AS each GROUP BY word HAVING sum(n) <> 0
  ), changed AS (
    INSERT INTO search.words AS w (project_id, word, documents) SELECT $1, word, n FROM deltas
    ON CONFLICT (project_id, word) DO UPDATE SET documents = w.documents + excluded.documents
    RETURNING w.word, w.documents
  )
  SELECT ${LOST} AS lost`

const WRITE = `
  WITH ${GIVEN}, languages AS (
    INSERT INTO search.languages (project_id, language) SELECT DISTINCT $1::uuid, language FROM given
    ON CONFLICT DO NOTHING
  )
  INSERT INTO search.documents AS o (
    project_id, source_id, id, title, body, url, metadata, language, boost, updated_at, lexemes)
  SELECT $1, source_id, id, title, body, url, metadata, language, boost, updated_at,
    setweight(to_tsvector(configuration, a), 'A') || setweight(to_tsvector(configuration, b), 'B') ||
    setweight(to_tsvector(configuration, c), 'C') || setweight(to_tsvector(configuration, d), 'D')
  FROM given, LATERAL (SELECT ('pg_catalog.' || language)::regconfig AS configuration) AS l
  ON CONFLICT (project_id, source_id, id) DO UPDATE SET
    title = excluded.title, body = excluded.body, url = excluded.url, metadata = excluded.metadata,
    language = excluded.language, boost = excluded.boost, updated_at = excluded.updated_at,
    lexemes = excluded.lexemes`

const remove = (which: string) => `
  WITH gone AS (
    DELETE FROM search.documents WHERE project_id = $1 AND source_id = $2 AND id = ANY(${which})
    RETURNING title, body
  ), counts AS (
    SELECT word, count(*) AS n FROM gone, search.words_of(title || ' ' || body) AS word GROUP BY word
  ), changed AS (
    UPDATE search.words w SET documents = w.documents - c.n FROM counts c
    WHERE w.project_id = $1 AND w.word = c.word RETURNING w.word, w.documents
  )
  SELECT (SELECT count(*) FROM gone) AS removed, ${LOST} AS lost`

const REMOVE = remove("$3::text[]")
const REMOVE_SOME = remove(
  "ARRAY(SELECT id FROM search.documents WHERE project_id = $1 AND source_id = $2 ORDER BY id LIMIT $3)",
)

const FORGET = "DELETE FROM search.words WHERE project_id = $1 AND word = ANY($2) AND documents <= 0"

const textOf = ({ parts }: SearchDocument, weight: Weight): string =>
  withoutTags(
    parts
      .filter(part => part.weight === weight)
      .map(({ text }) => text)
      .join("\n"),
  )

const toRow = (document: SearchDocument) => ({
  ...{ source_id: document.sourceId, id: document.id, title: document.title, body: document.body },
  ...{ a: textOf(document, 4), b: textOf(document, 3), c: textOf(document, 2), d: textOf(document, 1) },
  ...{ url: document.url, metadata: document.metadata, language: document.language, boost: document.boost },
  updated_at: document.updatedAt,
})

/** Runs `work` as the only writer of the owner, whole or not at all. */
const writing = async <Result>(
  pool: pg.Pool,
  owner: string,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> => {
  const client = await pool.connect()
  try {
    await client.query("BEGIN")
    await client.query(LOCK, [owner, WRITER_LOCK])
    const result = await work(client)
    await client.query("COMMIT")
    client.release()
    return result
  } catch (error) {
    // A connection that is closed rolls back.
    client.release(true)
    throw error
  }
}

const forget = async (client: pg.PoolClient, owner: string, lost: readonly string[] | null | undefined) => {
  if (lost) await client.query(FORGET, [owner, lost])
}

export const putDocuments = (
  pool: pg.Pool,
  owner: string,
  documents: readonly SearchDocument[],
): Promise<void> =>
  writing(pool, owner, async client => {
    const rows = JSON.stringify(documents.map(toRow))
    const counted = await client.query<{ lost: string[] | null }>(COUNT_WORDS, [owner, rows])
    await client.query(WRITE, [owner, rows])
    await forget(client, owner, counted.rows[0]?.lost)
  })

const removing = (
  pool: pg.Pool,
  owner: string,
  statement: string,
  values: readonly unknown[],
): Promise<number> =>
  writing(pool, owner, async client => {
    const { rows } = await client.query<{ removed: number; lost: string[] | null }>(statement, [
      owner,
      ...values,
    ])
    await forget(client, owner, rows[0]?.lost)
    return rows[0]?.removed ?? 0
  })

export const removeDocuments = (pool: pg.Pool, owner: string, sourceId: string, ids: readonly string[]) =>
  removing(pool, owner, REMOVE, [sourceId, ids])

export const removeSome = (pool: pg.Pool, owner: string, sourceId: string, limit: number) =>
  removing(pool, owner, REMOVE_SOME, [sourceId, limit])
