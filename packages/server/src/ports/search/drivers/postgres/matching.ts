/** Turns the terms of a query into what PostgreSQL matches documents with. */
import type pg from "pg"
import { withoutTags } from "../../html.ts"
import type { QueryTerm } from "../../terms.ts"
import { distance, distanceMax } from "./spelling.ts"

/** A lexeme and where it stands in a phrase. */
type LexemePosition = readonly [lexeme: string, position: number]

interface Reading {
  readonly n: number
  readonly kind: "given" | "completed" | "near"
  readonly said: string
  readonly lexemes: readonly LexemePosition[] | null
}

export interface Matching {
  /** For the index, whose lexemes are scoped by project; null when the query only excludes. */
  readonly index: string | null
  /** What is looked for; null when the query only excludes. */
  readonly wanted: string | null
  /** Everything that must hold, where the index alone cannot tell; null where it can. */
  readonly whole: string | null
  /** Lexemes to look for in a text. */
  readonly words: readonly string[]
}

/** Words that stand for an unfinished one; beside them, all that begin so are looked for. */
const COMPLETED_MAX = 10
/** Words of which those spelled most nearly so are taken. */
const NEAR_LOOKED_AT = 20
const NEAR_MAX = 5
/** Shorter words are too like too many others. */
const TYPO_LENGTH_MIN = 4
/** Characters of a lexeme in the index; `search.scoped` has the same. */
const LEXEME_LENGTH_MAX = 200

const isWord = (text: string): boolean => /^\p{L}+$/u.test(text)
const isPlain = (text: string): boolean => /^[\p{L}\p{N}]+$/u.test(text)

const READ = (typo: boolean) => `
  WITH languages AS (
    SELECT $2::text AS name WHERE $2::text IS NOT NULL
    UNION ALL SELECT language FROM search.languages WHERE project_id = $1 AND $2::text IS NULL
  ), terms AS MATERIALIZED (
    SELECT t.n, t.said, lower(t.said) COLLATE "C" AS word, t.completes, t.corrects
    FROM json_to_recordset($3) AS t(n integer, said text, completes boolean, corrects boolean)
  ), unknown AS MATERIALIZED (
    SELECT n, word FROM terms t
    WHERE corrects
      AND NOT EXISTS (SELECT FROM search.words w WHERE w.project_id = $1 AND w.word = t.word)
      AND NOT (completes AND EXISTS (
        SELECT FROM search.words w WHERE w.project_id = $1 AND w.word > t.word AND w.word < t.word || chr(1114111)))
      AND NOT EXISTS (
        SELECT FROM languages l, unnest(to_tsvector(('pg_catalog.' || l.name)::regconfig, t.word)) AS stem,
          search.documents d
        WHERE d.project_id = $1
          AND search.scoped(d.project_id, d.lexemes) @@ ('''' || right($1::text, 8) || stem.lexeme || '''')::tsquery)
  ), readings AS (
    SELECT n, 'given' AS kind, said FROM terms
    UNION ALL
    SELECT t.n, 'completed', c.word FROM terms t CROSS JOIN LATERAL (
      SELECT w.word FROM search.words w
      WHERE w.project_id = $1 AND w.word > t.word AND w.word < t.word || chr(1114111)
      ORDER BY w.documents DESC, w.word LIMIT ${COMPLETED_MAX}) AS c
    WHERE t.completes AND length(t.word) > 1
    ${typo ? `UNION ALL SELECT u.n, 'near', near FROM unknown u CROSS JOIN LATERAL search.near_words($1, u.word, ${NEAR_LOOKED_AT}) AS near` : ""}
  )
  SELECT r.n, r.kind, r.said, (
    SELECT json_agg(json_build_array(v.lexeme, p) ORDER BY p)
    FROM unnest(to_tsvector(('pg_catalog.' || l.name)::regconfig, r.said)) AS v, unnest(v.positions) AS p
  ) AS lexemes
  FROM readings r CROSS JOIN languages l`

const quoted = (lexeme: string): string => `'${lexeme.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`

const phrase = (lexemes: readonly LexemePosition[]): string =>
  lexemes
    .map(([lexeme, position], n) => {
      const before = lexemes[n - 1]
      return before ? `<${position - before[1]}> ${quoted(lexeme)}` : quoted(lexeme)
    })
    .join(" ")

const either = (alternatives: readonly string[]): string =>
  [...new Set(alternatives)].map(text => `(${text})`).join(" | ")

const all = (parts: readonly string[]): string | null =>
  parts.length === 0 ? null : parts.map(part => `(${part})`).join(" & ")

/** Of the words that are spelled nearly so, the nearest. */
const nearest = (word: string, readings: readonly Reading[]): Reading[] => {
  const limit = distanceMax(word)
  const far = readings.map(reading => ({ reading, far: distance(word, reading.said, limit) }))
  const least = Math.min(...far.map(({ far }) => far))
  return far
    .filter(({ far }) => far <= limit && far === least)
    .map(({ reading }) => reading)
    .slice(0, NEAR_MAX * 4)
}

interface TermMatch {
  readonly index: string
  readonly wanted: string
  readonly isInexact: boolean
  readonly words: readonly string[]
}

/** Undefined: a word so common that its language does not index it, which every document may be taken to have. */
const matchTerm = (term: QueryTerm, scope: string, readings: readonly Reading[]): TermMatch | undefined => {
  const near = readings.filter(({ kind }) => kind === "near")
  const used = [...readings.filter(({ kind }) => kind !== "near"), ...nearest(term.text.toLowerCase(), near)]
  const prefix = term.isUnfinished && isPlain(term.text) ? term.text.toLowerCase() : undefined
  const isCommon = readings.some(({ kind, lexemes }) => kind === "given" && lexemes === null)
  if (isCommon && prefix === undefined) return undefined
  const phrases = used.flatMap(({ lexemes }) => (lexemes ? [lexemes] : []))
  const scoped = (lexeme: string) => quoted(scope + [...lexeme].slice(0, LEXEME_LENGTH_MAX).join(""))
  const begins = prefix === undefined ? [] : [prefix]
  return {
    index: either([
      ...phrases.map(lexemes => lexemes.map(([lexeme]) => scoped(lexeme)).join(" & ")),
      ...begins.map(lexeme => `${scoped(lexeme)}:*`),
    ]),
    wanted: either([...phrases.map(phrase), ...begins.map(lexeme => `${quoted(lexeme)}:*`)]),
    isInexact: phrases.some(lexemes => lexemes.length > 1),
    words: [...phrases.flatMap(lexemes => lexemes.map(([lexeme]) => lexeme)), ...begins],
  }
}

const toMatching = (terms: readonly QueryTerm[], scope: string, readings: readonly Reading[]): Matching => {
  const matched = terms.map((term, n) => ({
    term,
    match: matchTerm(
      term,
      scope,
      readings.filter(reading => reading.n === n),
    ),
  }))
  const sought = matched.flatMap(({ term, match }) => (match && !term.isExcluded ? [match] : []))
  const shunned = matched.flatMap(({ term, match }) => (match && term.isExcluded ? [match.wanted] : []))
  const wanted = all(sought.map(match => match.wanted))
  const isInexact = shunned.length > 0 || sought.some(match => match.isInexact)
  return {
    index: all(sought.map(({ index }) => index)),
    wanted,
    whole: isInexact ? all([...(wanted ? [wanted] : []), ...shunned.map(text => `!(${text})`)]) : null,
    words: [...new Set(sought.flatMap(({ words }) => words))],
  }
}

/** Undefined: nothing can match, because the query wants something and the owner has no documents, or only common words. */
export const readMatching = async (
  pool: pg.Pool,
  owner: string,
  query: { readonly terms: readonly QueryTerm[]; readonly language: string | undefined },
  typo: boolean,
): Promise<Matching | undefined> => {
  const asked = query.terms.map(({ text, isPhrase, isExcluded, isUnfinished }, n) => ({
    n,
    said: withoutTags(text),
    completes: isUnfinished && isPlain(text),
    corrects: typo && !isPhrase && !isExcluded && isWord(text) && text.length >= TYPO_LENGTH_MIN,
  }))
  const { rows } = await pool.query<Reading>(READ(typo), [
    owner,
    query.language ?? null,
    JSON.stringify(asked),
  ])
  if (rows.length === 0) return undefined
  const matching = toMatching(query.terms, owner.slice(-8), rows)
  const wants = query.terms.some(({ isExcluded }) => !isExcluded)
  return wants && matching.wanted === null ? undefined : matching
}
