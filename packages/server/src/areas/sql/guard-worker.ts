/**
 * Parses and judges statements off the main thread. The parser is a C program that believes in its stack: a text nested
 * deep enough leaves it in a state that nobody should rely on, so whatever is not a plain syntax error ends this thread.
 */
import { parentPort } from "node:worker_threads"
import { loadModule, parseSync, SqlError } from "libpg-query"
import { freesOf } from "./frees.ts"
import type { GuardAnswer, GuardQuestion } from "./guard.ts"
import { judge } from "./read-only.ts"
import { riskOf } from "./risk.ts"

await loadModule()

const isSyntaxError = (error: unknown): error is SqlError =>
  error instanceof SqlError && !/memory|stack/.test(error.message)

const answer = (sql: string): GuardAnswer["outcome"] => {
  try {
    const tree = parseSync(sql)
    return { verdict: judge(tree), risk: riskOf(tree), frees: freesOf(tree) }
  } catch (error) {
    if (!isSyntaxError(error)) throw error
    return { syntaxError: { message: error.message, position: (error.sqlDetails?.cursorPosition ?? -1) + 1 } }
  }
}

parentPort?.on("message", ({ id, sql }: GuardQuestion) => {
  parentPort?.postMessage({ id, outcome: answer(sql) } satisfies GuardAnswer)
})
