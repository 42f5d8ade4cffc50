/** Services as requests find them, from memory where possible. */
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { isUuid } from "../../kernel/id.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { RevisionSpec } from "../../services/serving/spec.ts"
import type { SpecOf } from "./specs.ts"
import { type RevisionRow, type ServiceRow, serviceStore } from "./store.ts"
import { servedNumbers } from "./traffic.ts"

/** A service changed or is gone. */
export const SERVICE_TOPIC = "run.service"
const CACHED_MAX = 10_000

/** Names never look like ids. */
export const columnOf = (ref: string): "id" | "name" => (isUuid(ref) ? "id" : "name")

export interface Known {
  readonly service: ServiceRow
  /** By number: those that may be asked for. */
  readonly revisions: ReadonlyMap<number, { readonly spec: RevisionSpec; readonly row: RevisionRow }>
}

export interface Directory {
  find(label: string): Known | undefined | Promise<Known | undefined>
}

/** With all revisions that may run. */
export const readKnown = async (db: Db, specOf: SpecOf, service: ServiceRow): Promise<Known> => {
  const rows = await serviceStore(db).findRevisions(service, servedNumbers(service))
  return { service, revisions: new Map(rows.map(row => [row.number, { row, spec: specOf(service, row) }])) }
}

export const createDirectory = (db: Db, changes: Changes, specOf: SpecOf): Directory =>
  createPushedCache<Known | undefined>({
    changes,
    topics: { [SERVICE_TOPIC]: "all", project: "all", organization: "all" },
    async read(label) {
      const service = await serviceStore(db).findByLabel(label)
      return service && readKnown(db, specOf, service)
    },
    idOf: known => known?.service.id,
    entriesMax: CACHED_MAX,
  })
