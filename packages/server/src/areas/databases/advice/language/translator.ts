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
  translate(request: TranslateRequest): Promise<Translation>
}

/** Below it a reading of the rules alone is rather a guess. */
const CONFIDENCE_MIN = 0.5
const CATALOG_TIMEOUT_MS = 5_000
const REPLY_TOKENS_MAX = 2_000
/** A model does not say how sure it is; that PostgreSQL accepts the statement is what is known. */
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
  const warnings = [...notes]
  if (leftover.length > 0) warnings.push(`not understood: ${leftover.join(", ")}`)
  try {
    const ambiguities: string[] = []
    const sql = statementOf(query, { catalog, now, ambiguities })
    warnings.push(...ambiguities)
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
  return new Set([
    ...found.map(({ meaning }) => meaning.table.index),
    ...[...values.values()].flat().map(({ table }) => table.index),
  ])
}

/** Tables of the catalog that the statement's text names; for the reader of the reply, not for any decision. */
const tablesIn = (catalog: Catalog, sql: string): string[] =>
  catalog.tables
    .filter(({ name }) =>
      new RegExp(
        `(?<![\\p{L}\\p{N}_])${name.replace(/[^\p{L}\p{N}_]/gu, "\\$&")}(?![\\p{L}\\p{N}_])`,
        "iu",
      ).test(sql.replace(/'(?:[^']|'')*'/g, "''")),
    )
    .map(({ schema, name }) => (schema === "public" ? name : `${schema}.${name}`))

export const createTranslator = (needs: {
  guard: Guard
  upstream?: LanguageModel | undefined
}): Translator => {
  const { guard, upstream } = needs
  const types = createTypeCatalog()

  const judged = (
    { withSession, volumeId, execute = false }: TranslateRequest,
    sql: string,
  ): Promise<Outcome> => withSession(client => check({ client, guard, types, volumeId, sql, execute }))

  /** Asks the model, and once more with PostgreSQL's error when its statement does not hold. */
  const byModel = async (request: TranslateRequest, known: Known, model: LanguageModel) => {
    const values = [...known.values.values()]
      .flat()
      .map(({ table, column, value }) => ({ table, column: column.name, value }))
    const { question, now, signal } = request
    const first = userPrompt({ question, now, catalog: known.catalog, relevant: namedTables(known), values })
    let user = first
    let last: { draft: Draft; outcome: Outcome } | undefined
    for (let attempt = 0; attempt < 2; attempt++) {
      const reply = await model.complete({ system: systemPrompt, user, maxTokens: REPLY_TOKENS_MAX, signal })
      const { sql, explanation } = parseReply(reply.text)
      const outcome = await judged(request, sql)
      const confidence = outcome.valid ? MODEL_CONFIDENCE : 0
      last = {
        draft: {
          sql,
          explanation: explanation || "Written by a language model.",
          confidence,
          warnings: [],
          model: reply.model,
        },
        outcome,
      }
      if (outcome.valid) return last
      user = repairPrompt(first, sql, outcome.reason)
    }
    return last
  }

  const answer = (known: Known, draft: Draft, outcome: Outcome): Translation => {
    if (outcome.valid && outcome.timedOut) throw fault("query_timeout", { seconds: RUN_TIMEOUT_MS / 1000 })
    const warnings = [...draft.warnings]
    if (known.catalog.truncated)
      warnings.push("the database has more tables than were looked at; name some in `tables`")
    if (!outcome.valid) warnings.push(`PostgreSQL refuses the statement: ${outcome.reason}`)
    else if (outcome.failure) warnings.push(`the statement failed when it ran: ${outcome.failure}`)
    return {
      sql: draft.sql,
      explanation: draft.explanation,
      tables: tablesIn(known.catalog, draft.sql),
      read_only: true,
      valid: outcome.valid,
      warnings,
      confidence: Math.round((outcome.valid ? draft.confidence : 0) * 100) / 100,
      model: draft.model,
      ...(outcome.valid && outcome.result ? { result: outcome.result } : {}),
    }
  }

  return {
    async translate(request) {
      const known = await learn(request)
      const ruled = byRules(known, request.now)
      let failure: unknown
      if (upstream) {
        try {
          const modelled = await byModel(request, known, upstream)
          if (modelled && (modelled.outcome.valid || !ruled || ruled.confidence < CONFIDENCE_MIN)) {
            return answer(known, modelled.draft, modelled.outcome)
          }
        } catch (error) {
          if (!(error instanceof PortError)) throw error
          failure = error
        }
      }
      if (ruled && ruled.confidence >= CONFIDENCE_MIN)
        return answer(known, ruled, await judged(request, ruled.sql))
      if (failure instanceof PortError) {
        if (failure.kind === "unavailable")
          throw fault(
            "service_unavailable",
            { reason: "the language model cannot be reached" },
            { internal: failure },
          )
        throw fault("upstream_error", { reason: failure.message }, { internal: failure })
      }
      const reason =
        "the rules do not understand this question; reword it with the names of tables and columns, or have the operator set SVC_AI_URL to ask a language model"
      throw fault("service_unavailable", { reason })
    },
  }
}
