import type pg from "pg"
import { send } from "../inspect.ts"

export interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly Schema?: string
  readonly "Index Name"?: string
  readonly Filter?: string
  readonly "Startup Cost": number
  readonly "Total Cost": number
  readonly "Plan Rows": number
  readonly Plans?: readonly PlanNode[]
}

export interface Explained {
  readonly plan: PlanNode
  /** Of the run; undefined when the statement was only planned. */
  readonly timeMs: number | undefined
}

interface Output {
  readonly Plan: PlanNode
  readonly "Execution Time"?: number
}

/** Values for the parameters; without them a statement that has some gets the plan for any values. */
export type Values = readonly unknown[] | undefined

/** Timing every row costs more than many a row takes, so only the whole run is timed. */
export const explain = async (
  client: pg.ClientBase,
  statement: { readonly sql: string; readonly parameterCount: number },
  values: Values,
  { run = false }: { readonly run?: boolean } = {},
): Promise<Explained> => {
  const generic = statement.parameterCount > 0 && !values
  const options = run ? ", ANALYZE, TIMING OFF, BUFFERS OFF" : generic ? ", GENERIC_PLAN" : ""
  const text = `EXPLAIN (FORMAT JSON, VERBOSE${options}) ${statement.sql}`
  // GENERIC_PLAN leaves the parameters open, which the extended protocol does not: there they must have values.
  const { rows } = generic ? await client.query(text) : await send(client, text, values)
  const output = Object.values(rows[0] as Record<string, unknown>)[0]
  const [explained] = (typeof output === "string" ? JSON.parse(output) : output) as Output[]
  if (!explained) throw new Error("EXPLAIN gave no plan")
  return { plan: explained.Plan, timeMs: explained["Execution Time"] }
}

export const planNodes = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(planNodes)]
