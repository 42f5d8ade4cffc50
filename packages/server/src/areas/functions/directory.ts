import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import { type DeployedRow, functionStore, type Owner } from "./store.ts"

/** A function changed or is gone. */
export const FUNCTION_TOPIC = "function"
const CACHED_MAX = 10_000

/** Names never look like ids. */
export const columnOf = (ref: string): "id" | "name" => (isUuid(ref) ? "id" : "name")

/** Functions as invocations find them, from memory where possible. */
export interface Directory {
  /** Throws `function_not_found`. */
  find(owner: Owner, ref: string): DeployedRow | Promise<DeployedRow>
  findPublic(id: string): DeployedRow | Promise<DeployedRow>
}

export const createDirectory = (db: Db, changes: Changes): Directory => {
  const known = createPushedCache<DeployedRow | undefined>({
    changes,
    topics: { [FUNCTION_TOPIC]: "all", project: "all", organization: "all" },
    read(key) {
      const [organizationId = "", projectId = "", ref = ""] = key.split(" ")
      const store = functionStore(db)
      return organizationId === "public"
        ? store.findPublic(ref)
        : store.find({ organizationId, projectId }, columnOf(ref), ref)
    },
    idOf: row => row?.id,
    entriesMax: CACHED_MAX,
  })
  const required = (ref: string, found: DeployedRow | undefined): DeployedRow => {
    if (!found) throw fault("function_not_found", { id: ref.slice(0, 64) })
    return found
  }
  const look = (key: string, ref: string) => {
    const found = known.find(key)
    return found instanceof Promise ? found.then(row => required(ref, row)) : required(ref, found)
  }
  return {
    find: ({ organizationId, projectId }, ref) =>
      ref.includes(" ") || ref.includes("\0")
        ? required(ref, undefined)
        : look(`${organizationId} ${projectId} ${isUuid(ref) ? ref.toLowerCase() : ref}`, ref),
    findPublic: id => look(`public - ${id.toLowerCase()}`, id),
  }
}
