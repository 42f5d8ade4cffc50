/**
 * Who keeps which files of the blob port. The port stores bytes for several areas and knows nothing of their rows, so
 * that before a file is removed as an orphan every area has to be asked.
 */
import { sql } from "kysely"
import type { AreaModule, BlobKeeper } from "../kernel/area.ts"
import type { Database } from "../kernel/db/database.ts"

export interface BlobName {
  readonly owner: string
  readonly address: string
}

export interface BlobKeepers {
  /** Those of the files that no row of any area names, whether the area is loaded or not. */
  unknown(blobs: readonly BlobName[]): Promise<BlobName[]>
}

const isNamedBy = ({ table, owner, address }: BlobKeeper) =>
  sql`EXISTS (SELECT FROM ${sql.table(table)} AS kept
    WHERE kept.${sql.ref(owner)} = listed.owner AND kept.${sql.ref(address)} = listed.address)`

export const createBlobKeepers = (
  modules: readonly Pick<AreaModule, "keepsBlobs">[],
  { db }: Pick<Database, "db">,
): BlobKeepers => {
  const named = modules.flatMap(({ keepsBlobs = [] }) => keepsBlobs).map(isNamedBy)
  const isKept = named.length === 0 ? sql`false` : sql.join(named, sql` OR `)
  return {
    async unknown(blobs) {
      if (blobs.length === 0) return []
      const { rows } = await sql<BlobName>`
        SELECT listed.owner, listed.address
        FROM unnest(${blobs.map(({ owner }) => owner)}::uuid[], ${blobs.map(({ address }) => address)}::text[])
          AS listed (owner, address)
        WHERE NOT (${isKept})`.execute(db)
      return rows
    },
  }
}
