import { type SelectQueryBuilder, type Simplify, sql } from "kysely"

/** A piece of a list, as callers ask for it. */
export interface Slice {
  readonly limit: number
  readonly offset: number
}

/** How many rows a query finds. */
export const countRows = async <DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
): Promise<number> => {
  const { total } = await query
    .clearSelect()
    .clearOrderBy()
    .select(sql<number>`count(*)`.as("total"))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow()
  return total
}

/** A piece of what an ordered query finds, and how many rows there are. */
export const listRows = async <DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  { limit, offset }: Slice,
): Promise<{ rows: Simplify<Row>[]; total: number }> => ({
  rows: await query.limit(limit).offset(offset).execute(),
  total: await countRows(query),
})
