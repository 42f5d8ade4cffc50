/** Questions to statements: by rules over the catalog, and by a language model where one is configured. */
import type pg from "pg"
import { inReadOnly } from "./asking.ts"
import { asksToWrite, auditAnswer } from "./audit.ts"
import { type Catalog, readCatalog } from "./catalog.ts"
import { ModelError, TranslationError } from "./errors.ts"
import { explain } from "./explain.ts"
import { interpret } from "./interpret.ts"
import type { LanguageModel } from "./language-model.ts"
import { createLexicon } from "./lexicon.ts"
import { parseReply, repairPrompt, systemPrompt, userPrompt } from "./prompt.ts"
import { Unreachable } from "./scope.ts"
import { statementOf } from "./statement.ts"
import {
  type CheckReadOnly,
  check,
  type Outcome,
  type QueryResult,
  type ResultTypes,
  RUN_TIMEOUT_MS,
} from "./validate.ts"
import { readValues, type Values } from "./values.ts"
import { type Token, tokenize } from "./words.ts"

export interface Translation {
  readonly sql: string
  readonly explanation: string
  readonly tables: string[]
  readonly read_only: boolean
  readonly valid: boolean
  readonly warnings: string[]
  readonly confidence: number
  readonly model: string
  readonly result?: QueryResult
}

/** Lends a session of the reader role; it is not held while a model thinks. */
export type WithSession = <Result>(work: (client: pg.ClientBase) => Promise<Result>) => Promise<Result>

export interface TranslateRequest {
  readonly question: string
  /** Only these tables, with or without schema; all when empty. */
  readonly tables?: readonly string[]
  /** Given where the statement is to be run too. */
  readonly resultTypes?: ResultTypes | undefined
  readonly now: Date
  readonly withSession: WithSession
  readonly signal: AbortSignal
}

/** How long reading the schema, understanding the question and planning the statement may take together. */
const ANSWER_LIMIT_MS = 200

export interface Translator {
  /** Rejects with a TranslationError where there is no statement. */
  translate(request: TranslateRequest): Promise<Translation>
}

const MODEL_SCHEMA_TIMEOUT_MS = 5_000
const PLAN_TIMEOUT_MS = 5_000
const REPLY_TOKENS_MAX = 2_000
/** A model does not say how sure it is; that PostgreSQL accepts the statement is all that is known. */
const MODEL_CONFIDENCE = 0.8

interface Draft {
  readonly sql: string
  readonly explanation: string
  readonly confidence: number
  readonly warnings: readonly string[]
  readonly model: string
}

interface SchemaContext {
  readonly tokens: readonly Token[]
  readonly catalog: Catalog
  readonly values: Values
  /** Milliseconds that are left to answer in, at least 1. */
  readonly remainingMs: () => number
}

interface CheckedDraft {
  readonly draft: Draft
  readonly outcome: Outcome
}

const isTimeout = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === "57014"

/** What the database has to do with the question; null when reading it takes longer than the limit. */
const readSchema = (
  { question, tables = [], withSession }: TranslateRequest,
  limitMs: number,
): Promise<SchemaContext | null> =>
  withSession(async client => {
    const started = performance.now()
    const remainingMs = () => Math.max(1, Math.floor(limitMs - (performance.now() - started)))
    try {
      return await inReadOnly(client, limitMs, async () => {
        const tokens = tokenize(question)
        const catalog = await readCatalog(client, tables)
        const values = await readValues(client, catalog, tokens, remainingMs())
        return { tokens, catalog, values, remainingMs }
      })
    } catch (error) {
      if (isTimeout(error)) return null
      throw error
    }
  })

/** The statement of the rules, or why they give none. */
const byRules = ({ tokens, catalog, values }: SchemaContext, now: Date): Draft | string => {
  const interpretation = interpret({ tokens, catalog, values, now })
  const { query } = interpretation
  if (!query) return "it names no table of this database as its subject"
  const ambiguities: string[] = []
  try {
    const sql = statementOf(query, { catalog, now, ambiguities })
    const { reason, confidence } = auditAnswer({
      catalog,
      tokens,
      values,
      interpretation,
      query,
      sql,
      ambiguities,
    })
    if (reason !== undefined) return reason
    return { sql, explanation: explain(catalog, query), confidence, warnings: [], model: "rules" }
  } catch (error) {
    if (error instanceof Unreachable) return error.message
    throw error
  }
}

const namedTables = ({ tokens, catalog, values }: SchemaContext): Set<number> => {
  const lexicon = createLexicon(catalog)
  const found = tokens.flatMap((_, at) => lexicon.find(tokens, at)?.entries ?? [])
  const valued = [...values.values()].flat()
  return new Set([
    ...found.map(({ meaning }) => meaning.table.index),
    ...valued.map(({ table }) => table.index),
  ])
}

type CheckSql = (sql: string) => Promise<Outcome>

/** Asks the model, and once more with PostgreSQL's error when its statement does not hold. */
const byModel = async (
  model: LanguageModel,
  { question, now, signal }: TranslateRequest,
  schema: SchemaContext,
  checkSql: CheckSql,
): Promise<CheckedDraft> => {
  const stored = [...schema.values.values()].flat()
  const values = stored.map(({ table, column, value }) => ({ table, column: column.name, value }))
  const first = userPrompt({ question, now, catalog: schema.catalog, relevant: namedTables(schema), values })
  const attempt = async (user: string): Promise<CheckedDraft> => {
    const reply = await model.complete({ system: systemPrompt, user, maxTokens: REPLY_TOKENS_MAX, signal })
    const { sql, explanation = "Written by a language model." } = parseReply(reply.text)
    const outcome = await checkSql(sql)
    return {
      draft: { sql, explanation, confidence: MODEL_CONFIDENCE, warnings: [], model: reply.model },
      outcome,
    }
  }
  const once = await attempt(first)
  if (once.outcome.valid) return once
  return await attempt(repairPrompt(first, once.draft.sql, once.outcome.reason))
}

const isWordPart = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_]/u.test(character)

/** Tables that the statement's text names; for people who read the reply, not for any decision. */
const tablesIn = ({ tables }: Catalog, sql: string): string[] => {
  const code = sql.replace(/'(?:[^']|'')*'/g, "''").toLowerCase()
  const isNamed = (name: string): boolean => {
    const written = name.toLowerCase().replaceAll('"', '""')
    for (let at = code.indexOf(written); at >= 0; at = code.indexOf(written, at + 1)) {
      if (!isWordPart(code[at - 1]) && !isWordPart(code[at + written.length])) return true
    }
    return false
  }
  const named = tables.filter(({ name }) => isNamed(name))
  return named.map(({ schema, name }) => (schema === "public" ? name : `${schema}.${name}`))
}

const toTranslation = ({ catalog }: SchemaContext, { draft, outcome }: CheckedDraft): Translation => {
  if (outcome.valid && outcome.timedOut)
    throw new TranslationError("run_timed_out", `the statement ran for more than ${RUN_TIMEOUT_MS / 1000} s`)
  const warnings = [...draft.warnings]
  if (catalog.truncated)
    warnings.push("the database has more tables than were looked at; name some in `tables`")
  if (!outcome.valid) warnings.push(`the statement does not hold: ${outcome.reason}`)
  else if (outcome.failure) warnings.push(`the statement failed when it ran: ${outcome.failure}`)
  return {
    sql: draft.sql,
    explanation: draft.explanation,
    tables: tablesIn(catalog, draft.sql),
    read_only: true,
    valid: outcome.valid,
    warnings,
    confidence: outcome.valid ? Math.round(draft.confidence * 100) / 100 : 0,
    model: draft.model,
    ...(outcome.valid && outcome.result ? { result: outcome.result } : {}),
  }
}

const errorOf = (reason: string, failure: ModelError | undefined) => {
  if (failure?.kind === "unavailable")
    return new TranslationError("model_unavailable", "the language model cannot be reached", failure)
  if (failure) return new TranslationError("model_failed", failure.message, failure)
  return new TranslationError("not_understood", reason)
}

export const createTranslator = (needs: {
  checkReadOnly: CheckReadOnly
  upstream?: LanguageModel | undefined
  limitMs?: number
}): Translator => {
  const { checkReadOnly, upstream } = needs
  const limitMs = upstream ? MODEL_SCHEMA_TIMEOUT_MS : (needs.limitMs ?? ANSWER_LIMIT_MS)
  const tooSlow = () =>
    new TranslationError(
      "not_understood",
      `it takes longer than ${limitMs} ms; name its tables in \`tables\``,
    )
  return {
    async translate(request) {
      const { withSession, resultTypes } = request
      if (asksToWrite(tokenize(request.question)))
        throw new TranslationError("not_read_only", "the question asks to change data")
      const schema = await readSchema(request, limitMs)
      if (schema === null) throw tooSlow()
      const checkSql: CheckSql = sql => {
        const planTimeoutMs = upstream ? PLAN_TIMEOUT_MS : schema.remainingMs()
        return withSession(client => check({ client, checkReadOnly, sql, resultTypes, planTimeoutMs }))
      }
      const ruled = byRules(schema, request.now)
      const suffices = typeof ruled !== "string"
      let failure: ModelError | undefined
      if (upstream) {
        try {
          const checked = await byModel(upstream, request, schema, checkSql)
          if (checked.outcome.valid || !suffices) return toTranslation(schema, checked)
        } catch (error) {
          if (!(error instanceof ModelError)) throw error
          failure = error
        }
      }
      if (!suffices) throw errorOf(ruled, failure)
      if (schema.remainingMs() === 1) throw tooSlow()
      const outcome = await checkSql(ruled.sql)
      if (!outcome.valid) throw new TranslationError("not_understood", outcome.reason)
      return toTranslation(schema, { draft: ruled, outcome })
    },
  }
}
