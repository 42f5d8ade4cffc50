import { sql } from "kysely"
import type { Db, Tx } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import { toBytes, type WrittenVector } from "./values.ts"

export type CollectionRow = Tables["vectors.collections"]

/** Whose collections a call may touch: a project's, or the organization's own. */
export interface Owner {
  readonly organizationId: string
  readonly ownerId: string
}

export interface StoredVector {
  readonly id: string
  readonly values: Buffer | null
  readonly metadata: Record<string, unknown> | null
}

/** A vector as an index is told of it; `values` and `metadata` are null in one that was deleted. */
export interface ChangedVector {
  readonly id: string
  readonly seq: number
  readonly values: Buffer | null
  readonly metadata: string | null
}

export interface After {
  readonly seq: number
  readonly id: string
}

/** Rows of vectors.collections and vectors.vectors. */
export const vectorStore = (db: Db) => {
  const collections = ({ organizationId, ownerId }: Owner) =>
    db
      .selectFrom("vectors.collections")
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)

  /** The collection's id, if it is the owner's. */
  const own = ({ organizationId, ownerId }: Owner, collectionId: string) =>
    db
      .selectFrom("vectors.collections as collection")
      .select("collection.id")
      .where("collection.organization_id", "=", organizationId)
      .where("collection.owner_id", "=", ownerId)
      .where("collection.id", "=", collectionId)

  const living = (owner: Owner, collectionId: string) =>
    db
      .selectFrom("vectors.vectors")
      .where("collection_id", "=", own(owner, collectionId))
      .where("deleted_at", "is", null)

  return {
    insert: async (row: CollectionRow) => {
      await db.insertInto("vectors.collections").values(row).execute()
    },

    find: (owner: Owner, name: string): Promise<CollectionRow | undefined> =>
      collections(owner).where("name", "=", name).executeTakeFirst(),

    async list(
      owner: Owner,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<{ rows: CollectionRow[]; total: number }> {
      const rows = await collections(owner)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: await this.countCollections(owner) }
    },

    async countCollections({ organizationId, ownerId }: Owner): Promise<number> {
      const { total } = await db
        .selectFrom("vectors.collections")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("organization_id", "=", organizationId)
        .where("owner_id", "=", ownerId)
        .executeTakeFirstOrThrow()
      return total
    },

    /** Its vectors are deleted later, piece by piece; nobody finds them without it. */
    async delete(owner: Owner, name: string, now: Date): Promise<CollectionRow | undefined> {
      const deleted = await db
        .deleteFrom("vectors.collections")
        .where("organization_id", "=", owner.organizationId)
        .where("owner_id", "=", owner.ownerId)
        .where("name", "=", name)
        .returningAll()
        .executeTakeFirst()
      if (deleted) {
        const row = { collection_id: deleted.id, dropped_at: now }
        await db.insertInto("vectors.dropped").values(row).execute()
      }
      return deleted
    },

    /** Those that exist, in no order. */
    read: (owner: Owner, collectionId: string, ids: readonly string[]): Promise<StoredVector[]> =>
      living(owner, collectionId)
        .select(["id", "values", "metadata"])
        .where("id", "in", [...ids])
        .execute() as Promise<StoredVector[]>,

    page: (owner: Owner, collectionId: string, after: string, limit: number): Promise<StoredVector[]> =>
      living(owner, collectionId)
        .select(["id", "values", "metadata"])
        .where("id", ">", after)
        .orderBy("id")
        .limit(limit)
        .execute() as Promise<StoredVector[]>,

    /** Changes past a point, in the order in which they were made, without deletions up to `deletionsAfter`. */
    changes: (
      owner: Owner,
      collectionId: string,
      after: After,
      { limit, deletionsAfter }: { limit: number; deletionsAfter: number },
    ): Promise<ChangedVector[]> =>
      db
        .selectFrom("vectors.vectors")
        .select(["id", "seq", "values"])
        .select(sql<string | null>`metadata::text`.as("metadata"))
        .where("collection_id", "=", own(owner, collectionId))
        .where(sql<boolean>`(seq, id) > (${after.seq}, ${after.id})`)
        .where(({ eb, or }) => or([eb("deleted_at", "is", null), eb("seq", ">", deletionsAfter)]))
        .orderBy("seq")
        .orderBy("id")
        .limit(limit)
        .execute(),
  }
}

/** Writes of one collection. All take the collection's row first, so they happen one after another. */
export const vectorWrites = (tx: Tx) => ({
  findForUpdate: ({ organizationId, ownerId }: Owner, name: string): Promise<CollectionRow | undefined> =>
    tx
      .selectFrom("vectors.collections")
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .where("name", "=", name)
      .forUpdate()
      .executeTakeFirst(),

  /** One statement for all. The collection is locked, so nobody changes between the count and the write. */
  async upsert(
    { id, organization_id, last_seq, dimension }: CollectionRow,
    vectors: readonly WrittenVector[],
    now: Date,
  ) {
    const width = dimension * 4
    const ids = vectors.map(vector => vector.id)
    const metadata = vectors.map(vector => vector.metadata)
    await sql`
      WITH before AS (
        SELECT count(*) AS living FROM vectors.vectors
        WHERE collection_id = ${id} AND id = ANY(${ids}::text[]) AND deleted_at IS NULL
      ), counted AS (
        UPDATE vectors.collections
        SET last_seq = ${last_seq + 1}, updated_at = ${now},
          vector_count = vector_count + ${vectors.length} - (SELECT living FROM before)
        WHERE organization_id = ${organization_id} AND id = ${id}
      )
      INSERT INTO vectors.vectors (collection_id, id, seq, "values", metadata, deleted_at)
      SELECT ${id}, given.id, ${last_seq + 1},
        substring(${toBytes(vectors)}::bytea FROM ((given.place - 1) * ${width} + 1)::integer FOR ${width}),
        given.metadata::jsonb, NULL
      FROM unnest(${ids}::text[], ${metadata}::text[]) WITH ORDINALITY AS given (id, metadata, place)
      ON CONFLICT (collection_id, id) DO UPDATE
      SET seq = excluded.seq, "values" = excluded."values", metadata = excluded.metadata, deleted_at = NULL`.execute(
      tx,
    )
  },

  /** How many there were. With `upTo`, only those that have not changed since then. */
  async delete(
    { id, organization_id, last_seq }: CollectionRow,
    ids: readonly string[],
    now: Date,
    upTo = Number.MAX_SAFE_INTEGER,
  ): Promise<number> {
    const { numUpdatedRows } = await tx
      .updateTable("vectors.vectors")
      .set({ seq: last_seq + 1, values: null, metadata: null, deleted_at: now })
      .where("collection_id", "=", id)
      .where("id", "in", [...ids])
      .where("deleted_at", "is", null)
      .where("seq", "<=", upTo)
      .executeTakeFirst()
    const deleted = Number(numUpdatedRows)
    if (deleted === 0) return 0
    await tx
      .updateTable("vectors.collections")
      .set({ last_seq: last_seq + 1, vector_count: sql`vector_count - ${deleted}`, updated_at: now })
      .where("organization_id", "=", organization_id)
      .where("id", "=", id)
      .execute()
    return deleted
  },
})
