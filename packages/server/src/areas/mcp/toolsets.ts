/** Which tools a list shows. */
import type { Operation } from "@svc/contract"
import type { Principal } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { isAdmitted, operationTools } from "./tools.ts"

/** What agents use most; everything else is found by `search_tools`. */
const BY_DEFAULT: readonly string[] = [
  "execute_sql",
  "get_schema",
  "get_table_schema",
  "list_databases",
  "create_database_branch",
  "kv_get",
  "kv_set",
  "kv_keys",
  "list_objects",
  "get_object",
  "put_object",
  "sandbox_create",
  "sandbox_run_command",
  "create_function",
  "update_function",
  "get_function_logs",
  "send_raw_email",
]

export type NamedOperation = readonly [name: string, operation: Operation]

const toolsetNames: ReadonlySet<string> = new Set([...operationTools.values()].map(({ area }) => area))

const check = (names: readonly string[]): void => {
  const unknown = names.find(name => !toolsetNames.has(name))
  if (unknown !== undefined)
    throw fault("invalid_parameter", {
      reason: `toolsets has ${unknown.slice(0, 100)}; use all, or some of ${[...toolsetNames].join(", ")}`,
    })
}

/** Those of the toolsets, or of the default list, that the caller may call. */
export const toolsFor = (principal: Principal, toolsets: string | undefined): NamedOperation[] => {
  const admitted = [...operationTools].filter(([, operation]) => isAdmitted(operation, principal))
  if (toolsets === undefined) return admitted.filter(([name]) => BY_DEFAULT.includes(name))
  const names = toolsets
    .split(",")
    .map(name => name.trim())
    .filter(name => name !== "")
  if (names.includes("all")) return admitted
  check(names)
  return admitted.filter(([, { area }]) => names.includes(area))
}
