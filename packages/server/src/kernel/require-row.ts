import type { FaultCode } from "@svc/contract"
import { fault } from "./fault.ts"

type Params = Readonly<Record<string, string | number>>

/** The row that a query found; throws the fault when there is none. */
export const requireRow = async <Row>(
  query: Row | undefined | Promise<Row | undefined>,
  code: FaultCode,
  params?: Params,
): Promise<Row> => {
  const row = await query
  if (row === undefined) throw fault(code, params)
  return row
}
