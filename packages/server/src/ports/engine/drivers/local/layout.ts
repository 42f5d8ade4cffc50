import { existsSync, lstatSync, mkdirSync, realpathSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Account, mayTraverse } from "../../../../kernel/db/embedded/account.ts"
import { hashOf, makePassageDir, makePrivateDir } from "../../../../kernel/db/embedded/placement.ts"
import { onDisk } from "../../../../kernel/startup-error.ts"

/** Where everything of the engine is; all paths absolute. */
export interface Layout {
  readonly root: string
  readonly templatesDir: string
  /** What belongs to a volume's own user: `data`, the PostgreSQL data directory. */
  volumeDir(volumeId: string): string
  dataDir(volumeId: string): string
  /** What the platform keeps of a volume, out of its server's reach: `volume.json`, `wal`, `bases`. */
  recordDir(volumeId: string): string
  walDir(volumeId: string): string
  basesDir(volumeId: string): string
  /** Short, because the address of a Unix socket holds 108 bytes on Linux and 104 on macOS. */
  socketDir(slot: number): string
  readonly volumesDir: string
  readonly recordsDir: string
}

const SOCKET_NAME = "/65535/.s.PGSQL.5432"
const SOCKET_PATH_BYTES_MAX = 100

/**
 * The engine's folder is `<dataDir>/databases`; where the servers' users cannot reach that (a project under /root), it
 * is `<systemDir>/data-<hash of dataDir>/databases`, and the former becomes a link to it.
 */
const placeRoot = (dataDir: string, systemDir: string, account: Account | undefined): string => {
  const entry = join(dataDir, "databases")
  return onDisk(`make ${entry}`, () => {
    if (lstatSync(entry, { throwIfNoEntry: false })) return realpathSync(entry)
    if (account === undefined || mayTraverse(account, dataDir)) {
      mkdirSync(entry, { mode: 0o711 })
      return realpathSync(entry)
    }
    const root = join(systemDir, `data-${hashOf(dataDir)}`, "databases")
    makePassageDir(join(systemDir, `data-${hashOf(dataDir)}`))
    makePassageDir(root)
    symlinkSync(root, entry)
    return root
  })
}

export const createLayout = (options: {
  dataDir: string
  systemDir: string
  /** Any user as whom servers run, or undefined: our own. */
  account: Account | undefined
  templatesDir?: string | undefined
}): Layout => {
  const { dataDir, systemDir, account } = options
  const root = placeRoot(dataDir, systemDir, account)
  const near = join(root, "run")
  const fits = Buffer.byteLength(near + SOCKET_NAME) <= SOCKET_PATH_BYTES_MAX
  const runDir = fits ? near : join(tmpdir(), `svc-${hashOf(root)}`)
  const volumesDir = join(root, "volumes")
  const recordsDir = join(root, "records")
  const templatesDir = options.templatesDir ?? join(root, "templates")
  for (const directory of [volumesDir, runDir]) makePassageDir(directory)
  makePrivateDir(recordsDir, undefined)
  if (!existsSync(templatesDir)) mkdirSync(templatesDir, { recursive: true, mode: 0o711 })

  const recordDir = (volumeId: string) => join(recordsDir, volumeId)
  const volumeDir = (volumeId: string) => join(volumesDir, volumeId)
  return {
    ...{ root, templatesDir, volumesDir, recordsDir, recordDir, volumeDir },
    dataDir: volumeId => join(volumeDir(volumeId), "data"),
    walDir: volumeId => join(recordDir(volumeId), "wal"),
    basesDir: volumeId => join(recordDir(volumeId), "bases"),
    socketDir: slot => join(runDir, String(slot)),
  }
}
