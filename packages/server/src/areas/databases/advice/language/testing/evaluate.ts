/** Runs the questions of a set and holds their answers against those of the written statements. */
import type pg from "pg"
import { ASKED_AT, type EvaluationSet, type Kind, type Pair } from "./evaluation.ts"

export interface Verdict {
  readonly pair: Pair
  readonly right: boolean
  readonly sql: string | null
  readonly confidence: number
  readonly reason: string
}

const plain = (value: string | null): string => {
  if (value === null) return "∅"
  if (/^-?\d+(?:\.\d+)?$/.test(value)) return String(Math.round(Number(value) * 1e6) / 1e6)
  return value.replace(/ 00:00:00(?:\+00)?$/, "")
}

const columnsOf = (rows: readonly (readonly (string | null)[])[], width: number): string[][] =>
  Array.from({ length: width }, (_, column) => rows.map(row => plain(row[column] ?? null)))

/**
 * Whether the rows are the same multiset once columns of the answer are picked for those of the solution. An answer
 * may show more columns (an id beside the name), never more or fewer rows.
 */
export const sameAnswer = (
  answer: readonly (readonly (string | null)[])[],
  solution: readonly (readonly (string | null)[])[],
): boolean => {
  if (answer.length !== solution.length) return false
  if (answer.length === 0) return true
  const given = columnsOf(answer, answer[0]?.length ?? 0)
  const wanted = columnsOf(solution, solution[0]?.length ?? 0)
  const sorted = (column: readonly string[]) => column.toSorted().join("\u0001")
  const rowsOf = (columns: readonly (readonly string[])[]) =>
    answer
      .map((_, row) => columns.map(column => column[row]).join("\u0000"))
      .sort()
      .join("\u0001")
  const target = rowsOf(wanted)
  const pick = (chosen: number[]): boolean => {
    if (chosen.length === wanted.length) return rowsOf(chosen.map(index => given[index] ?? [])) === target
    const next = sorted(wanted[chosen.length] ?? [])
    return given.some(
      (column, index) => !chosen.includes(index) && sorted(column) === next && pick([...chosen, index]),
    )
  }
  return pick([])
}

export type Answering = (
  client: pg.PoolClient,
  question: string,
  now: Date,
) => Promise<{ sql: string; confidence: number }>

const raw = { getTypeParser: () => (text: string | Buffer) => text } as unknown as pg.CustomTypesConfig

const rowsOf = async (client: pg.PoolClient, text: string): Promise<(string | null)[][]> =>
  (await client.query<(string | null)[]>({ text, rowMode: "array", types: raw })).rows

const judge = async (client: pg.PoolClient, pair: Pair, answering: Answering): Promise<Verdict> => {
  let sql: string | null = null
  try {
    const answer = await answering(client, pair.question, ASKED_AT)
    sql = answer.sql
    const right = sameAnswer(await rowsOf(client, sql), await rowsOf(client, pair.sql))
    return { pair, right, sql, confidence: answer.confidence, reason: right ? "" : "another answer" }
  } catch (error) {
    return {
      pair,
      right: false,
      sql,
      confidence: 0,
      reason: error instanceof Error ? error.message : String(error),
    }
  }
}

export const evaluate = async (
  pool: pg.Pool,
  set: EvaluationSet,
  answering: Answering,
): Promise<Verdict[]> => {
  const client = await pool.connect()
  try {
    const verdicts: Verdict[] = []
    for (const pair of set.pairs) verdicts.push(await judge(client, pair, answering))
    return verdicts
  } finally {
    client.release()
  }
}

/** Right answers of all, by kind. */
export const accuracy = (verdicts: readonly Verdict[]): Map<Kind, { right: number; of: number }> => {
  const table = new Map<Kind, { right: number; of: number }>()
  for (const { pair, right } of verdicts) {
    const { right: before, of } = table.get(pair.kind) ?? { right: 0, of: 0 }
    table.set(pair.kind, { right: before + Number(right), of: of + 1 })
  }
  return table
}
