/** Questions to statements: by rules over the catalog, and by a language model where one is configured. */
import type pg from "pg"
import { fault } from "../../../../kernel/fault.ts"
import { PortError } from "../../../../ports/port-error.ts"
import type { Guard } from "../../sql/guard.ts"
import { createTypeCatalog } from "../../sql/pg-types.ts"
import { inReadOnly } from "./asking.ts"
import { type Catalog, readCatalog } from "./catalog.ts"
import { explain } from "./explain.ts"
import { interpret } from "./interpret.ts"
import type { LanguageModel } from "./language-model.ts"
import { createLexicon } from "./lexicon.ts"
import { parseReply, repairPrompt, systemPrompt, userPrompt } from "./prompt.ts"
import { Unreachable } from "./scope.ts"
import { statementOf } from "./statement.ts"
import { check, type Outcome, type QueryResult, RUN_TIMEOUT_MS } from "./validate.ts"
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
  readonly execute?: boolean
  readonly now: Date
  /** What the database's own types are remembered by. */
  readonly volumeId: string
  readonly withSession: WithSession
  readonly signal: AbortSignal
}

export interface Translator {
  /**
   * Throws `service_unavailable` when neither the rules nor a model can answer, `upstream_error` when the model's
   * server misbehaves, and `query_timeout` when the statement was to be run and took too long.
   */
  translate(request: TranslateRequest): Promise<Translation>
}

/** Below it a reading of the rules alone is rather a guess. */
const CONFIDENCE_MIN = 0.5
const CATALOG_TIMEOUT_MS = 5_000
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

interface Known {
  readonly tokens: readonly Token[]
  readonly catalog: Catalog
  readonly values: Values
}

interface Judged {
  readonly draft: Draft
  readonly outcome: Outcome
}

const learn = ({ question, tables = [], withSession }: TranslateRequest): Promise<Known> =>
  withSession(client =>
    inReadOnly(client, CATALOG_TIMEOUT_MS, async () => {
      const tokens = tokenize(question)
      const catalog = await readCatalog(client, tables)
      return { tokens, catalog, values: await readValues(client, catalog, tokens) }
    }),
  )

const byRules = ({ tokens, catalog, values }: Known, now: Date): Draft | null => {
  const { query, confidence, leftover, notes } = interpret({ tokens, catalog, values, now })
  if (!query) return null
  const ambiguities: string[] = []
  try {
    const sql = statementOf(query, { catalog, now, ambiguities })
    const warnings = [...notes, ...ambiguities]
    if (leftover.length > 0) warnings.push(`not understood: ${leftover.join(", ")}`)
    const sure = Math.max(0, confidence - 0.1 * ambiguities.length)
    return { sql, explanation: explain(catalog, query), confidence: sure, warnings, model: "rules" }
  } catch (error) {
    if (error instanceof Unreachable) return null
    throw error
  }
}

const namedTables = ({ tokens, catalog, values }: Known): Set<number> => {
  const lexicon = createLexicon(catalog)
  const found = tokens.flatMap((_, at) => lexicon.find(tokens, at)?.entries ?? [])
  const valued = [...values.values()].flat()
  return new Set([
    ...found.map(({ meaning }) => meaning.table.index),
    ...valued.map(({ table }) => table.index),
  ])
}

type Judge = (sql: string) => Promise<Outcome>

/** Asks the model, and once more with PostgreSQL's error when its statement does not hold. */
const byModel = async (
  model: LanguageModel,
  { question, now, signal }: TranslateRequest,
  known: Known,
  judge: Judge,
): Promise<Judged> => {
  const stored = [...known.values.values()].flat()
  const values = stored.map(({ table, column, value }) => ({ table, column: column.name, value }))
  const first = userPrompt({ question, now, catalog: known.catalog, relevant: namedTables(known), values })
  const attempt = async (user: string): Promise<Judged> => {
    const reply = await model.complete({ system: systemPrompt, user, maxTokens: REPLY_TOKENS_MAX, signal })
    const { sql, explanation = "Written by a language model." } = parseReply(reply.text)
    const outcome = await judge(sql)
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

const toTranslation = ({ catalog }: Known, { draft, outcome }: Judged): Translation => {
  if (outcome.valid && outcome.timedOut) throw fault("query_timeout", { seconds: RUN_TIMEOUT_MS / 1000 })
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

const refusalOf = (failure: PortError | undefined) => {
  if (failure?.kind === "unavailable")
    return fault(
      "service_unavailable",
      { reason: "the language model cannot be reached" },
      { internal: failure },
    )
  if (failure) return fault("upstream_error", { reason: failure.message }, { internal: failure })
  return fault("service_unavailable", {
    reason:
      "the rules do not understand this question; reword it with names of tables and columns, or have the operator set SVC_AI_URL",
  })
}

export const createTranslator = (needs: {
  guard: Guard
  upstream?: LanguageModel | undefined
}): Translator => {
  const { guard, upstream } = needs
  const types = createTypeCatalog()
  return {
    async translate(request) {
      const { withSession, volumeId, execute = false } = request
      const judge: Judge = sql =>
        withSession(client => check({ client, guard, types, volumeId, sql, execute }))
      const known = await learn(request)
      const ruled = byRules(known, request.now)
      const suffices = ruled !== null && ruled.confidence >= CONFIDENCE_MIN
      let failure: PortError | undefined
      if (upstream) {
        try {
          const judged = await byModel(upstream, request, known, judge)
          if (judged.outcome.valid || !suffices) return toTranslation(known, judged)
        } catch (error) {
          if (!(error instanceof PortError)) throw error
          failure = error
        }
      }
      if (!suffices) throw refusalOf(failure)
      return toTranslation(known, { draft: ruled, outcome: await judge(ruled.sql) })
    },
  }
}
