import { areas, type Input, type Output } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { Condition, VectorIndexPort } from "../../ports/vectors/port.ts"
import { callIndex, storeUnavailable } from "./call-index.ts"
import { collectionHandlers, requireCollection, toStored } from "./collection-handlers.ts"
import { readFilter } from "./filter.ts"
import type { Keeper } from "./keeper.ts"
import type { VectorQuota } from "./quota.ts"
import { vectorStore, vectorWrites } from "./store.ts"
import { checkBatchSize, idOf, vectorOf, writtenOf } from "./values.ts"

type Specs = typeof areas.vectors.specs
type Search = Input<Specs["search"]>

export interface VectorHandlerNeeds {
  readonly quota: VectorQuota
  readonly database: Database
  readonly index: VectorIndexPort
  readonly keeper: Keeper
}

const TOP_K_DEFAULT = 10
/** Vectors that a delete by filter takes in one transaction. */
const DELETED_AT_ONCE = 5_000
/** A search starts over when one of its matches was deleted before it could be read. */
const ATTEMPTS_MAX = 3

const upsertWith =
  ({ database, index, keeper }: VectorHandlerNeeds) =>
  async ({ collection, vectors }: Input<Specs["upsert"]>, call: Call): Promise<number> => {
    checkBatchSize(vectors)
    // What an engine outside cannot be told now, it would have to be told all at once when it is back.
    if (index.capabilities.shared && !(await index.health()).ok) throw storeUnavailable()
    const { row, count } = await database.transaction(async tx => {
      const writes = vectorWrites(tx)
      const row = await requireRow(writes.findForUpdate(call.tenant, collection), "collection_not_found", {
        name: collection,
      })
      const written = writtenOf(row, vectors)
      await writes.upsert(row, written, call.now)
      return { row: { ...row, last_seq: row.last_seq + 1 }, count: written.length }
    })
    // One is counted by the declaration.
    call.meter("vector_ops", count - 1)
    keeper.touch(row)
    return count
  }

const searchWith =
  ({ index, keeper }: VectorHandlerNeeds) =>
  async (input: Search, call: Call): Promise<Output<Specs["search"]>> => {
    const from = performance.now()
    const { include_metadata = true, include_values = false, params = {} } = input
    const filter = input.filter && readFilter(input.filter)
    for (let attempt = 1; ; attempt++) {
      const row = await requireCollection(call.db, call, input.collection)
      const query = {
        vector: vectorOf(row, input.vector),
        topK: input.top_k ?? TOP_K_DEFAULT,
        scoreThreshold: input.score_threshold,
        ef: params.ef,
        exact: params.exact ?? false,
        filter,
      }
      const { matches, exact } = await callIndex(() => keeper.using(row, shape => index.search(shape, query)))
      const ids = matches.map(({ id }) => id)
      const isBare = ids.length === 0 || !(include_metadata || include_values)
      const stored = isBare ? [] : await vectorStore(call.db).read(call.tenant, row.id, ids)
      if (!isBare && stored.length < ids.length && attempt < ATTEMPTS_MAX) continue
      const byId = new Map(stored.map(vector => [vector.id, vector]))
      return {
        matches: matches.flatMap(({ id, score }) => {
          const vector = byId.get(id)
          if (!vector) return isBare ? { id, score } : []
          return { score, ...toStored(vector, { metadata: include_metadata, values: include_values }) }
        }),
        took_ms: Math.round((performance.now() - from) * 100) / 100,
        exact,
      }
    }
  }

const deleteWith = ({ database, index, keeper }: VectorHandlerNeeds) => {
  /** `upTo`: not those that have changed since the filter looked at them. */
  const deleteIds = async (name: string, ids: readonly string[], call: Call, upTo?: number) => {
    const { row, deleted } = await database.transaction(async tx => {
      const writes = vectorWrites(tx)
      const row = await requireRow(writes.findForUpdate(call.tenant, name), "collection_not_found", { name })
      const deleted = await writes.delete(row, ids, call.now, upTo)
      return { row: deleted > 0 ? { ...row, last_seq: row.last_seq + 1 } : row, deleted }
    })
    keeper.touch(row)
    return deleted
  }

  const deleteFiltered = async (name: string, filter: Condition, call: Call) => {
    let deleted = 0
    for (;;) {
      const row = await requireCollection(call.db, call, name)
      const ids = await callIndex(() =>
        keeper.using(row, shape => index.select(shape, filter, DELETED_AT_ONCE)),
      )
      if (ids.length > 0) deleted += await deleteIds(name, ids, call, row.last_seq)
      if (ids.length < DELETED_AT_ONCE || call.signal.aborted) return deleted
    }
  }

  return async ({ collection, ids, filter }: Input<Specs["delete"]>, call: Call) => {
    if (ids && filter) throw fault("invalid_parameter", { reason: "name ids or a filter, not both" })
    if (ids) return await deleteIds(collection, [...new Set(ids.map(idOf))], call)
    // An empty filter names everything, which is too easily an accident.
    if (!filter || Object.keys(filter).length === 0)
      throw fault("missing_parameter", { field: "ids or filter" })
    return await deleteFiltered(collection, readFilter(filter), call)
  }
}

export const vectorHandlers = implement(areas.vectors, (needs: VectorHandlerNeeds) => {
  const { index, keeper, quota } = needs
  const write = upsertWith(needs)
  const upsert = (input: Input<Specs["upsert"]>, call: Call) =>
    quota.within(call, input.vectors.length, () => write(input, call))
  const search = searchWith(needs)
  const remove = deleteWith(needs)
  return {
    ...collectionHandlers(needs),
    upsert: async (input, call) => ({ upserted_count: await upsert(input, call) }),
    batchUpsert: async (input, call) => ({ count: await upsert(input, call) }),
    search: (input, call) => quota.within(call, 1, () => search(input, call)),
    delete: async (input, call) => ({ deleted_count: await remove(input, call) }),

    async get({ collection, ids, include_metadata = true, include_values = true }, call) {
      const wanted = [...new Set(ids.map(idOf))]
      const { id } = await requireCollection(call.db, call, collection)
      const stored = await vectorStore(call.db).read(call.tenant, id, wanted)
      const byId = new Map(stored.map(vector => [vector.id, vector]))
      const include = { metadata: include_metadata, values: include_values }
      return {
        vectors: wanted.flatMap(id => {
          const vector = byId.get(id)
          return vector ? toStored(vector, include) : []
        }),
      }
    },

    async count({ collection, filter }, call) {
      const condition = filter && readFilter(filter)
      const row = await requireCollection(call.db, call, collection)
      if (!condition) return { count: row.vector_count }
      return { count: await callIndex(() => keeper.using(row, shape => index.count(shape, condition))) }
    },
  }
})
