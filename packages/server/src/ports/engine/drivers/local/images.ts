import { randomUUID } from "node:crypto"
import { chown, mkdir, rename, rm, writeFile } from "node:fs/promises"
import { basename, dirname, join, sep } from "node:path"
import type { Account } from "../../../../kernel/db/embedded/account.ts"
import { PortError } from "../../../port-error.ts"
import type { Lsn } from "../../port.ts"
import { asAdmin } from "./admin.ts"
import { readControlFile } from "./control-file.ts"
import { copyTree } from "./copy.ts"

/** A copy of a data directory that a server can start from once it has the log. */
export interface Image {
  /** Where replay begins, and from where on the files are consistent. */
  readonly redo: Lsn
  readonly consistent: Lsn
  readonly timeline: number
  readonly takenAt: Date
}

/** Contents that belong to the running server, not to the database; the folders themselves must be there. */
const EMPTY_FOLDERS = [
  "pg_wal",
  "pg_replslot",
  "pg_dynshmem",
  "pg_notify",
  "pg_serial",
  "pg_snapshots",
  "pg_stat_tmp",
  "pg_subtrans",
]
const LEFT_OUT: ReadonlySet<string> = new Set([
  "postmaster.pid",
  "postmaster.opts",
  "backup_label",
  "recovery.signal",
  "standby.signal",
])
const WAL_FOLDERS = ["archive_status", "summaries"]

const isLeftOut = (path: string): boolean => {
  const [top = "", ...below] = path.split(sep)
  if (below.length > 0 && EMPTY_FOLDERS.includes(top)) return true
  const name = basename(path)
  return LEFT_OUT.has(path) || name === "pg_internal.init" || name.startsWith("pgsql_tmp")
}

/** The control file says from where on the other files must be read, so it is the last to be copied. */
const isLast = (path: string): boolean => path.startsWith(`global${sep}`)

/** Whose files are copied, and whose the copy is. */
export interface Owners {
  readonly source: Account | undefined
  readonly owner: Account | undefined
}

const copyData = async (from: string, to: string, { source, owner }: Owners): Promise<void> => {
  await copyTree(from, to, { source, owner, skip: isLeftOut, last: isLast })
  for (const folder of WAL_FOLDERS) {
    const path = join(to, "pg_wal", folder)
    await mkdir(path, { recursive: true, mode: 0o700 })
    if (owner) await chown(path, owner.uid, owner.gid)
  }
}

/** Of a data directory on which nothing runs, and whose server was shut down in order. */
export const copyAtRest = async (from: string, to: string, owners: Owners): Promise<Image> => {
  const { redo, timeline, shutDown } = await readControlFile(from)
  if (!shutDown) throw new PortError("unavailable", "the database was not shut down in order")
  await copyData(from, to, owners)
  return { redo, consistent: redo, timeline, takenAt: new Date() }
}

/** The first lines of a backup label: `START WAL LOCATION: 0/2000028 (file 000000010000000000000002)`, `START TIMELINE: 1`. */
const readLabel = (label: string): { redo: Lsn; timeline: number } => {
  const redo = /^START WAL LOCATION: ([0-9A-F]+\/[0-9A-F]+)/m.exec(label)?.[1]
  const timeline = /^START TIMELINE: (\d+)/m.exec(label)?.[1]
  if (redo === undefined || timeline === undefined) throw new Error(`not a backup label: ${label}`)
  return { redo, timeline: Number(timeline) }
}

/**
 * Of a running server, in backup mode (PostgreSQL documentation, "Making a Base Backup Using the Low Level API"). A plain
 * copy would nearly always work, and be broken the other times.
 */
export const copyRunning = async (
  at: { socketDir: string; password: string },
  from: string,
  to: string,
  owners: Owners,
): Promise<Image> =>
  asAdmin(at, async client => {
    await client.query("SELECT pg_backup_start('svc', true)")
    await copyData(from, to, owners)
    // False: the archiver has the log already, so nobody needs to wait for it here.
    const { rows } = await client.query<{ lsn: string; labelfile: string; now: Date }>(
      "SELECT lsn, labelfile, clock_timestamp() AS now FROM pg_backup_stop(false)",
    )
    const [end] = rows
    if (!end) throw new Error("pg_backup_stop gave no row")
    const path = join(to, "backup_label")
    await writeFile(path, end.labelfile, { mode: 0o600 })
    if (owners.owner) await chown(path, owners.owner.uid, owners.owner.gid)
    return { ...readLabel(end.labelfile), consistent: end.lsn, takenAt: end.now }
  })

/** How the name of a folder begins that is not whole. */
export const DRAFT = ".making-"

/** Makes a folder appear under its name only once `fill` has filled it. */
export const madeWhole = async <Result>(
  path: string,
  fill: (draft: string) => Promise<Result>,
): Promise<Result> => {
  const draft = join(dirname(path), `${DRAFT}${randomUUID()}`)
  try {
    const result = await fill(draft)
    await rename(draft, path)
    return result
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}
