import { type areas, type Output, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { type Db, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { VectorIndexPort } from "../../ports/vectors/port.ts"
import { type CollectionRow, type StoredVector, vectorStore } from "./store.ts"
import { fromBytes, idOf } from "./values.ts"

type Specs = typeof areas.vectors.specs
type VectorCollection = Output<Specs["getCollection"]>

/** Collections of one project, or of the organization itself. */
const COLLECTIONS_MAX = 1_000
const LIST_LIMIT_DEFAULT = 100
const M_DEFAULT = 16
const EF_CONSTRUCTION_DEFAULT = 128

/** The caller's collection of that name; throws `collection_not_found`. */
export const requireCollection = (db: Db, call: Call, name: string): Promise<CollectionRow> =>
  requireRow(vectorStore(db).find(call.tenant, name), "collection_not_found", { name })

export const toStored = (
  { id, values, metadata }: StoredVector,
  include: { values?: boolean | undefined; metadata?: boolean | undefined },
) => ({
  id,
  ...(include.metadata && { metadata: metadata ?? {} }),
  ...(include.values && { values: values ? Array.from(fromBytes(values)) : [] }),
})

const toCursor = (id: string): string => Buffer.from(id).toString("base64url")

const fromCursor = (cursor: string): string => {
  const id = Buffer.from(cursor, "base64url").toString()
  if (toCursor(id) !== cursor || id.includes("\0"))
    throw fault("invalid_parameter", { reason: "cursor is not one that a list gave" })
  return idOf(id)
}

type CollectionOperation =
  | "createCollection"
  | "listCollections"
  | "getCollection"
  | "deleteCollection"
  | "list"

export const collectionHandlers = ({
  index,
}: {
  index: VectorIndexPort
}): Pick<Handlers<Specs>, CollectionOperation> => {
  const payload = (row: CollectionRow): VectorCollection => ({
    id: row.id,
    name: row.name,
    dimension: row.dimension,
    metric: row.metric as VectorCollection["metric"],
    index: {
      type: row.index_type as VectorCollection["index"]["type"],
      m: row.m,
      ef_construction: row.ef_construction,
    },
    count: row.vector_count,
    index_state: index.state(row.id),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  })

  return {
    async createCollection({ name, dimension, metric = "cosine", index: wanted = {} }, call) {
      const store = vectorStore(call.db)
      const { organizationId, ownerId } = call.tenant
      if ((await store.countCollections({ organizationId, ownerId })) >= COLLECTIONS_MAX)
        throw fault("invalid_parameter", { reason: `there are ${COLLECTIONS_MAX} collections already` })
      const row: CollectionRow = {
        id: newId(),
        organization_id: organizationId,
        owner_id: ownerId,
        name,
        dimension,
        metric,
        index_type: wanted.type ?? "auto",
        m: wanted.m ?? M_DEFAULT,
        ef_construction: wanted.ef_construction ?? EF_CONSTRUCTION_DEFAULT,
        vector_count: 0,
        last_seq: 0,
        forgotten_seq: 0,
        created_at: call.now,
        updated_at: call.now,
      }
      try {
        await store.insert(row)
      } catch (error) {
        if (isUniqueViolation(error)) throw fault("name_taken", { resource: "collection", name })
        throw error
      }
      call.describe({ targets: [{ type: "vector_collection", id: row.id, name }] })
      return payload(row)
    },

    async listCollections(input, call) {
      const { rows, total } = await vectorStore(call.db).list(call.tenant, pageOf(input))
      return page({ rows: rows.map(payload), total }, input)
    },

    async getCollection({ name }, call) {
      return payload(await requireCollection(call.db, call, name))
    },

    async deleteCollection({ name }, call) {
      const row = await requireRow(
        vectorStore(call.db).delete(call.tenant, name, call.now),
        "collection_not_found",
        { name },
      )
      call.describe({ targets: [{ type: "vector_collection", id: row.id, name }] })
    },

    async list({ name, limit = LIST_LIMIT_DEFAULT, cursor, include_metadata }, call) {
      const { id } = await requireCollection(call.db, call, name)
      const after = cursor === undefined ? "" : fromCursor(cursor)
      const rows = await vectorStore(call.db).page(call.tenant, id, after, limit)
      const last = rows.length === limit ? rows.at(-1) : undefined
      return {
        data: rows.map(row => toStored(row, { metadata: include_metadata })),
        cursor: last ? toCursor(last.id) : null,
      }
    },
  }
}
