/**
 * Full-text search in the control database. Documents are matched by an index on lexemes that carry the beginning of
 * their project's id; words that no document has are replaced with the help of trigrams, where the extension pg_trgm may
 * be created.
 */
import type pg from "pg"
import { PortError } from "../../../port-error.ts"
import type { SearchPort, SearchResult } from "../../port.ts"
import { readTerms } from "../../terms.ts"
import { readMatching } from "./matching.ts"
import { findDocuments } from "./searching.ts"
import { putDocuments, removeDocuments, removeSome } from "./writing.ts"

export interface PostgresSearchOptions {
  /** Of the control database, migrated. It stays its owner's to close. */
  readonly pool: pg.Pool
}

const SUGGEST = `
  SELECT word FROM search.words
  WHERE project_id = $1 AND word >= lower($2) AND word < lower($2) || chr(1114111)
  ORDER BY documents DESC, word LIMIT $3`

const BYTES = `
  SELECT coalesce(sum(
    pg_column_size(title) + pg_column_size(body) + pg_column_size(metadata) + pg_column_size(lexemes)
  ), 0)::bigint AS bytes FROM search.documents WHERE project_id = $1`

/** Server's own words for what a statement of ours should never be: too long a query, a language it lacks. */
const REFUSALS = /^(22|54)/

const served = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
  try {
    return await ask()
  } catch (error) {
    const { code = "" } = error as { code?: string }
    throw new PortError(
      REFUSALS.test(code) ? "refused" : "unavailable",
      `PostgreSQL did not serve a search: ${error instanceof Error ? error.message : error}`,
      error,
    )
  }
}

const NOTHING: SearchResult = { hits: [], total: 0, facets: [] }

export const openPostgresSearch = async ({ pool }: PostgresSearchOptions): Promise<SearchPort> => {
  const enabled = await pool.query<{ typo: boolean }>("SELECT search.enable_near_words() AS typo")
  const languages = await pool.query<{ name: string }>(
    `SELECT cfgname::text AS name FROM pg_catalog.pg_ts_config
     WHERE cfgnamespace = 'pg_catalog'::regnamespace AND cfgname <> 'simple' ORDER BY cfgname`,
  )
  const typo = enabled.rows[0]?.typo === true

  return {
    capabilities: { engine: "postgres", typo, languages: languages.rows.map(({ name }) => name) },
    put: (owner, documents) => served(() => putDocuments(pool, owner, documents)),
    async remove(owner, sourceId, ids) {
      await served(() => removeDocuments(pool, owner, sourceId, ids))
    },
    removeSource: (owner, sourceId, limit) => served(() => removeSome(pool, owner, sourceId, limit)),
    search: (owner, query) =>
      served(async () => {
        const terms = readTerms(query.text)
        if (!terms) return findDocuments(pool, owner, query, undefined)
        const matching = await readMatching(pool, owner, { terms, language: query.language }, typo)
        if (!matching) return { ...NOTHING, facets: query.facets.map(() => []) }
        return findDocuments(pool, owner, query, matching)
      }),
    suggest: (owner, prefix, limit) =>
      served(async () => {
        const { rows } = await pool.query<{ word: string }>(SUGGEST, [owner, prefix, limit])
        return rows.map(({ word }) => word)
      }),
    bytes: owner =>
      served(async () => (await pool.query<{ bytes: number }>(BYTES, [owner])).rows[0]?.bytes ?? 0),
    async health() {
      try {
        await pool.query("SELECT FROM search.documents LIMIT 0")
        return { ok: true }
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : String(error) }
      }
    },
    async [Symbol.asyncDispose]() {},
  }
}
