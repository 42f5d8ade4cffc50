/** Fields of statements, over HTTP and in the format of Neon's driver. */
import { MIB, T } from "./dsl.ts"

export const SQL_BATCH_MAX = 1_000
const SQL_LENGTH_MAX = 4 * MIB
/** PostgreSQL counts parameters in 16 bits. */
const PARAMS_MAX = 65_535

export const Sql = T.String({ minLength: 1, maxLength: SQL_LENGTH_MAX, description: "One statement" })
export const Params = T.Array(T.Unknown(), {
  maxItems: PARAMS_MAX,
  description:
    "Values of $1, $2, …. A list becomes JSON where the parameter is json, jsonb or text, and a PostgreSQL array " +
    "elsewhere; an object becomes JSON; a string is passed as it is, so for jsonb it holds JSON text",
})

export const NeonQuery = T.Object({
  query: Sql,
  params: T.Optional(Params),
  arrayMode: T.Optional(T.Boolean({ description: "Rows as arrays instead of objects" })),
})
