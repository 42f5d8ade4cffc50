/** Reads the question files and measures how many answers are right, wrong or refused. */
import { readFileSync } from "node:fs"
import { performance } from "node:perf_hooks"
import type pg from "pg"
import { TranslationError } from "../errors.ts"
import { ASKED_AT } from "./evaluation.ts"
import { hr } from "./hr.ts"
import { library } from "./library.ts"
import { sameAnswer } from "./same-answer.ts"
import { school } from "./school.ts"
import { sensors } from "./sensors.ts"
import { shop } from "./shop.ts"

export interface Question {
  readonly schema: string
  readonly text: string
  /** The statement that answers it; null where the only right reply is a refusal. */
  readonly sql: string | null
}

export type Half = "tuning" | "held-out"

const folder = new URL("questions/", import.meta.url)

const schemaSql = (schema: string): string => readFileSync(new URL(`${schema}.sql`, folder), "utf8")

/** The older sets, which the rules were written with; every one is a schema with questions about it. */
const sets = [shop, hr, library, sensors, school]

export const setupOf = (schema: string): string =>
  sets.find(({ name }) => name === schema)?.setup ?? schemaSql(schema)

export const questionsOf = (names: readonly string[]): Question[] =>
  sets
    .filter(({ name }) => names.includes(name))
    .flatMap(({ name, pairs }) => pairs.map(({ question, sql }) => ({ schema: name, text: question, sql })))

/** Lines are `# schema`, `Q question` and `A statement`, or `A refuse`. */
export const readQuestions = (half: Half): Question[] => {
  const lines = readFileSync(new URL(`${half}.txt`, folder), "utf8")
    .trim()
    .split("\n")
  const questions: Question[] = []
  let schema = ""
  let text = ""
  for (const line of lines) {
    const rest = line.slice(2)
    if (line.startsWith("# ")) schema = rest
    else if (line.startsWith("Q ")) text = rest
    else questions.push({ schema, text, sql: rest === "refuse" ? null : rest })
  }
  return questions
}

export interface Scored {
  readonly question: Question
  readonly outcome: "right" | "wrong" | "refused"
  readonly confidence: number
  readonly milliseconds: number
  /** The statement of an answer, or the text of a refusal. */
  readonly detail: string
}

export type Answer = (
  client: pg.PoolClient,
  question: string,
  now: Date,
) => Promise<{ sql: string; confidence: number }>

const raw = { getTypeParser: () => (text: string | Buffer) => text } as unknown as pg.CustomTypesConfig

export const rowsOf = async (client: pg.ClientBase | pg.Pool, text: string): Promise<(string | null)[][]> =>
  (await client.query<(string | null)[]>({ text, rowMode: "array", types: raw })).rows

/** A list that was asked for in an order must come in it; ties and limits are left to the comparison of rows. */
const isOrdered = (sql: string): boolean => /ORDER BY [^()]*$/.test(sql) && !/LIMIT|DISTINCT ON/.test(sql)

const isRight = async (client: pg.PoolClient, answer: string, expected: string | null): Promise<boolean> => {
  if (expected === null) return false
  const given = await rowsOf(client, answer)
  const wanted = await rowsOf(client, expected)
  if (!isOrdered(expected)) return sameAnswer(given, wanted)
  return (
    given.length === wanted.length && given.every((row, index) => sameAnswer([row], [wanted[index] ?? []]))
  )
}

const score = async (client: pg.PoolClient, question: Question, answer: Answer): Promise<Scored> => {
  const started = performance.now()
  try {
    const { sql, confidence } = await answer(client, question.text, ASKED_AT)
    const milliseconds = performance.now() - started
    const right = await isRight(client, sql, question.sql)
    return { question, outcome: right ? "right" : "wrong", confidence, milliseconds, detail: sql }
  } catch (error) {
    if (!(error instanceof TranslationError)) throw error
    const milliseconds = performance.now() - started
    return { question, outcome: "refused", confidence: 0, milliseconds, detail: error.message }
  }
}

export const scoreQuestions = async (
  owner: pg.Pool,
  reader: pg.Pool,
  questions: readonly Question[],
  answer: Answer,
): Promise<Scored[]> => {
  const scored: Scored[] = []
  for (const [schema, list] of Map.groupBy(questions, question => question.schema)) {
    await owner.query(
      "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC",
    )
    await owner.query(setupOf(schema))
    await owner.query("GRANT SELECT ON ALL TABLES IN SCHEMA public TO svc_reader")
    const client = await reader.connect()
    try {
      for (const question of list) scored.push(await score(client, question, answer))
    } finally {
      client.release()
    }
  }
  return scored
}

export interface Summary {
  readonly questions: number
  readonly right: number
  readonly wrong: number
  readonly refused: number
  /** Right answers among all answers. */
  readonly precision: number
  /** Right answers among the questions that have one. */
  readonly recall: number
  readonly slowestMs: number
}

export const summaryOf = (scored: readonly Scored[]): Summary => {
  const count = (outcome: Scored["outcome"]) => scored.filter(each => each.outcome === outcome).length
  const [right, wrong, refused] = [count("right"), count("wrong"), count("refused")]
  const answerable = scored.filter(({ question }) => question.sql !== null).length
  return {
    questions: scored.length,
    right,
    wrong,
    refused,
    precision: right / (right + wrong || 1),
    recall: right / (answerable || 1),
    slowestMs: Math.round(Math.max(...scored.map(({ milliseconds }) => milliseconds))),
  }
}
