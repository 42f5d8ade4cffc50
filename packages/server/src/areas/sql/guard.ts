/** Asks whether a statement only reads, and whether it is high-risk. Fails closed: what cannot be judged counts as neither. */
import { Worker } from "node:worker_threads"
import { LRUCache } from "lru-cache"
import { fault } from "../../kernel/fault.ts"
import { invalidSql, type ReadOnly } from "../../services/postgres/failures.ts"
import type { Frees } from "../databases/offers.ts"
import type { ReadOnlyCheck } from "./read-only.ts"

export interface GuardQuestion {
  readonly id: number
  readonly sql: string
}

type GuardOutcome =
  | { readonly verdict: ReadOnlyCheck; readonly risk: string | undefined; readonly frees: Frees | undefined }
  /** `position` counts characters from 1; 0 when it is not known. */
  | { readonly syntaxError: { readonly message: string; readonly position: number } }
  | { readonly unjudged: string }

export interface GuardAnswer {
  readonly id: number
  readonly outcome: GuardOutcome
}

export interface Guard extends AsyncDisposable {
  /** Throws `key_read_only` (403) or `invalid_sql` (400) unless the statement only reads. */
  check(sql: string, readOnly: Exclude<ReadOnly, false>): Promise<void>
  /** What makes the statement high-risk, in words; undefined when nothing does. Throws `invalid_sql` (400). */
  risk(sql: string): Promise<string | undefined>
  /** How the statement makes a database smaller; undefined when it does not, or cannot be judged. */
  frees(sql: string): Promise<Frees | undefined>
}

/** A text of this size takes the parser about 100 ms. */
const SQL_LENGTH_MAX = 128 * 1024
const CACHED_MAX = 5_000
const CACHED_CHARACTERS_MAX = 8 * 1024 * 1024
/** More of them wait only when somebody floods the platform with new texts. */
const WAITING_MAX = 1_000
const TIMEOUT_MS = 5_000
const WORKER = new URL("./guard-worker.ts", import.meta.url)

interface PendingCheck {
  readonly resolve: (outcome: GuardOutcome) => void
  readonly timer: NodeJS.Timeout
}

/** A thread that parses, started on first use and again after it ended. */
const createParser = () => {
  let worker: Worker | undefined
  let count = 0
  const waiting = new Map<number, PendingCheck>()

  const settle = (id: number, outcome: GuardOutcome) => {
    const entry = waiting.get(id)
    if (!entry) return
    waiting.delete(id)
    clearTimeout(entry.timer)
    entry.resolve(outcome)
  }

  const start = (): Worker => {
    const started = new Worker(WORKER, { name: "sql-guard", env: {}, resourceLimits: { stackSizeMb: 16 } })
    started.unref()
    started.on("message", ({ id, outcome }: GuardAnswer) => settle(id, outcome))
    started.on("error", () => undefined)
    started.on("exit", () => {
      if (worker === started) worker = undefined
      // Texts are judged in the order in which they came, so the first is the one that ended it.
      const [culprit, ...others] = waiting.keys()
      if (culprit !== undefined) settle(culprit, { unjudged: "it is nested too deeply" })
      for (const id of others) settle(id, { unjudged: "the parser was restarted; try again" })
    })
    return started
  }

  return {
    ask(sql: string): Promise<GuardOutcome> {
      if (waiting.size >= WAITING_MAX)
        throw fault("rate_limited", undefined, { headers: { "retry-after": "1" } })
      worker ??= start()
      count += 1
      const id = count
      const asked = worker
      return new Promise(resolve => {
        const timer = setTimeout(() => void asked.terminate(), TIMEOUT_MS)
        timer.unref()
        waiting.set(id, { resolve, timer })
        asked.postMessage({ id, sql } satisfies GuardQuestion)
      })
    },
    async [Symbol.asyncDispose]() {
      await worker?.terminate()
    },
  }
}

const readOnlyFault = (reason: string, readOnly: Exclude<ReadOnly, false>) => {
  const details = { sqlstate: "25006", severity: "ERROR", position: null, detail: reason }
  if (readOnly === "key") return fault("key_read_only", undefined, { body: { details } })
  return invalidSql(`read_only allows SELECT, SHOW and EXPLAIN alone: ${reason}`, details)
}

export const createGuard = (): Guard => {
  const parser = createParser()
  const known = new LRUCache<string, GuardOutcome>({
    max: CACHED_MAX,
    maxSize: CACHED_CHARACTERS_MAX,
    sizeCalculation: (_, sql) => sql.length + 1,
  })

  const judged = async (sql: string): Promise<GuardOutcome> => {
    const before = known.get(sql)
    if (before) return before
    if (sql.length > SQL_LENGTH_MAX) return { unjudged: `it has more than ${SQL_LENGTH_MAX} characters` }
    const outcome = await parser.ask(sql)
    if (!("unjudged" in outcome)) known.set(sql, outcome)
    return outcome
  }

  const syntaxFault = ({ message, position }: { message: string; position: number }) =>
    invalidSql(message, { sqlstate: "42601", severity: "ERROR", position: position || null })

  return {
    async risk(sql) {
      const outcome = await judged(sql)
      if ("unjudged" in outcome) return `cannot be judged: ${outcome.unjudged}`
      if ("syntaxError" in outcome) throw syntaxFault(outcome.syntaxError)
      return outcome.risk
    },
    async frees(sql) {
      const outcome = await judged(sql)
      return "frees" in outcome ? outcome.frees : undefined
    },
    async check(sql, readOnly) {
      const outcome = await judged(sql)
      if ("unjudged" in outcome)
        throw invalidSql(`it cannot be told whether this only reads: ${outcome.unjudged}`, {
          sqlstate: "54001",
        })
      if ("syntaxError" in outcome) throw syntaxFault(outcome.syntaxError)
      if (!outcome.verdict.allowed) throw readOnlyFault(outcome.verdict.reason, readOnly)
    },
    [Symbol.asyncDispose]: () => parser[Symbol.asyncDispose](),
  }
}
