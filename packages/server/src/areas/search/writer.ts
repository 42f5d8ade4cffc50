import { createSemaphore } from "../../kernel/concurrency/semaphore.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { SearchPort } from "../../ports/search/port.ts"
import { type Item, prepare, type Unreadable } from "./documents.ts"
import { entryStore } from "./entries.ts"
import type { Freshness } from "./freshness.ts"
import { sourceStore } from "./store.ts"

export interface Written {
  readonly written: number
  readonly unchanged: number
  readonly unreadable: readonly Unreadable[]
}

/** Keeps the index and what is known of it in step. Undefined where the source is gone. */
export interface Writer {
  put(at: Place, items: readonly (Item | Unreadable)[], runId: string | null): Promise<Written | undefined>
  /** How many there were. */
  remove(at: Place, ids: readonly string[]): Promise<number | undefined>
}

export interface Place {
  readonly projectId: string
  readonly sourceId: string
}

/** Each write holds a connection while the index, which may be in the same database, takes another. */
const WRITES_MAX = 2

export const createWriter = (needs: {
  database: Database
  index: SearchPort
  now: () => number
  freshness: Freshness
}): Writer => {
  const { database, index, now, freshness } = needs
  const semaphore = createSemaphore(WRITES_MAX)

  return {
    put: ({ projectId, sourceId }, items, runId) => {
      const readAt = now()
      return semaphore.run(() =>
        database.transaction(async tx => {
          const source = await sourceStore(tx).findForUpdate(projectId, sourceId)
          if (!source) return undefined
          const entries = entryStore(tx)
          const { documents, unreadable } = prepare(items, source, new Date(readAt))
          const known = await entries.hashes(
            projectId,
            sourceId,
            documents.map(({ document }) => document.id),
          )
          const changed = documents.filter(({ document, hash }) => !known.get(document.id)?.equals(hash))
          if (changed.length > 0) {
            await index.put(
              projectId,
              changed.map(({ document }) => document),
            )
            freshness.note(projectId, changed.length, now() - readAt)
          }
          const seen = runId === null ? changed : documents
          const marks = seen.map(({ document, hash }) => ({ id: document.id, hash }))
          if (marks.length > 0) await entries.save(projectId, sourceId, runId, marks)
          if (runId !== null && unreadable.length > 0)
            await entries.keep(
              projectId,
              sourceId,
              runId,
              unreadable.map(({ id }) => id),
            )
          const added = documents.length - known.size
          if (added > 0) await sourceStore(tx).addDocuments(projectId, sourceId, added)
          if (runId === null)
            await sourceStore(tx).ran(projectId, sourceId, { last_run_at: new Date(readAt) })
          return { written: changed.length, unchanged: documents.length - changed.length, unreadable }
        }),
      )
    },

    remove: ({ projectId, sourceId }, ids) =>
      semaphore.run(() =>
        database.transaction(async tx => {
          if (!(await sourceStore(tx).findForUpdate(projectId, sourceId))) return undefined
          await index.remove(projectId, sourceId, ids)
          const removed = await entryStore(tx).delete(projectId, sourceId, ids)
          if (removed > 0) await sourceStore(tx).addDocuments(projectId, sourceId, -removed)
          return removed
        }),
      ),
  }
}
