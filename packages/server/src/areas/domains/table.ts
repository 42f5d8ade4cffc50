/** The domains that are served, by name, in memory; changes of any process are pushed to it. */
import type { Changes } from "../../kernel/db/changes.ts"
import type { Logger } from "../../kernel/log.ts"
import type { DomainRow, routeStore } from "./store.ts"

export const DOMAIN_TOPIC = "domain"

export interface Table extends Disposable {
  find(host: string): DomainRow | undefined
  /** Reads all of them. */
  load(): Promise<void>
  /** Resolves when what is known to have changed was read. */
  settled(): Promise<void>
}

const RETRY_MS = 1_000

export const createTable = (needs: {
  readonly routes: ReturnType<typeof routeStore>
  readonly changes: Changes
  readonly log: Logger
}): Table => {
  const { routes, changes, log } = needs
  const byId = new Map<string, DomainRow>()
  const byHost = new Map<string, DomainRow>()
  /** Readings follow one another, so that the newest counts. */
  let reading = Promise.resolve()
  let isClosed = false

  const drop = (id: string) => {
    const known = byId.get(id)
    if (!known) return
    byId.delete(id)
    // A new owner may have come first.
    if (byHost.get(known.domain)?.id === id) byHost.delete(known.domain)
  }
  const put = (row: DomainRow) => {
    drop(row.id)
    byId.set(row.id, row)
    byHost.set(row.domain, row)
  }

  const readOne = async (id: string) => {
    const row = await routes.find(id)
    if (row) put(row)
    else drop(id)
  }
  const readAll = async () => {
    const found = new Set<string>()
    for await (const rows of routes.all()) {
      for (const row of rows) {
        found.add(row.id)
        put(row)
      }
    }
    for (const id of [...byId.keys()]) if (!found.has(id)) drop(id)
  }

  const enqueue = (read: () => Promise<void>) => {
    reading = reading.then(async () => {
      if (isClosed) return
      await read().catch(error => {
        log.warn({ err: error }, "reading custom domains failed; will retry")
        setTimeout(() => enqueue(read), RETRY_MS).unref()
      })
    })
  }

  changes.subscribe(DOMAIN_TOPIC, id => enqueue(id === undefined ? readAll : () => readOne(id)))
  changes.subscribe("project", projectId => {
    if (projectId === undefined) return
    for (const { id, project_id } of byId.values()) {
      if (project_id === projectId) enqueue(() => readOne(id))
    }
  })
  changes.subscribe("organization", organizationId => {
    if (organizationId === undefined) return
    for (const { id, organization_id } of byId.values()) {
      if (organization_id === organizationId) enqueue(() => readOne(id))
    }
  })

  return {
    find: host => byHost.get(host),
    load: readAll,
    settled: () => reading,
    [Symbol.dispose]() {
      isClosed = true
    },
  }
}
