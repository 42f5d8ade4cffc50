import { CompiledQuery } from "kysely"
import type { Tx } from "../../../kernel/db/database.ts"
import type { Queries } from "./objects.ts"

/** The statements of this area's stores, on a transaction of the control database. */
export const queriesOn = (tx: Tx): Queries => {
  const query = (statement: string | { text: string; values?: unknown[] }, values?: unknown[]) => {
    const { text, values: given = values } = typeof statement === "string" ? { text: statement } : statement
    return tx.executeQuery(CompiledQuery.raw(text, given))
  }
  return { query } as unknown as Queries
}
