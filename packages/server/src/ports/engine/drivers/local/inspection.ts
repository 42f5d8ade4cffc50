import type { Lsn, VolumeUse } from "../../port.ts"
import { ADMIN_ROLE, asAdmin } from "./admin.ts"
import { readControlFile } from "./control-file.ts"
import type { Layout } from "./layout.ts"
import type { Volume } from "./volume.ts"
import { readArchive } from "./wal/archive.ts"
import { type Commit, lastCommit } from "./wal/commits.ts"

/** What goes on in a running volume. */
export const inspectVolume = async (volume: Volume, adminPassword: string): Promise<VolumeUse> =>
  asAdmin({ socketDir: volume.socketDir, password: adminPassword }, async client => {
    const { rows } = await client.query<{ sessions: number; active: number; bytes: string }>(`
      SELECT count(*)::int AS sessions, count(*) FILTER (WHERE state <> 'idle')::int AS active,
        (SELECT sum(pg_database_size(oid)) FROM pg_database WHERE datallowconn AND NOT datistemplate) AS bytes
      FROM pg_stat_activity
      WHERE backend_type IN ('client backend', 'parallel worker') AND usename <> '${ADMIN_ROLE}'`)
    const [row] = rows
    return {
      sessions: row?.sessions ?? 0,
      activeSessions: row?.active ?? 0,
      logicalBytes: Number(row?.bytes ?? 0),
    }
  })

export const newestCommit = async (walDir: string): Promise<Commit | undefined> =>
  lastCommit(await readArchive(walDir))

/** Up to where a volume at rest can be restored; after a crash its control file is behind, or lost with its disk. */
export const lastPosition = async (layout: Layout, id: string): Promise<Lsn | null> => {
  const control = await readControlFile(layout.dataDir(id)).catch(() => undefined)
  if (control?.shutDown) return control.redo
  return (await newestCommit(layout.walDir(id)))?.lsn ?? control?.redo ?? null
}
