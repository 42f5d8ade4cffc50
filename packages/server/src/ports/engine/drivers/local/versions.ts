import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Account } from "../../../../kernel/db/embedded/account.ts"
import { type Binaries, locateBinaries, prepareBinaries } from "../../../../kernel/db/embedded/binaries.ts"
import { StartupError } from "../../../../kernel/startup-error.ts"
import { PortError } from "../../../port-error.ts"
import { type PgVersion, pgVersions } from "../../port.ts"

/** The programs of an operator's own PostgreSQL (its `bin` folder), by version. */
export type ProgramFolders = { readonly [Version in PgVersion]?: string | undefined }

export interface Versions {
  readonly available: readonly PgVersion[]
  /** The programs of a version, where the users that run them can reach them. */
  programs(version: PgVersion): Promise<Binaries>
}

const locate = (version: PgVersion, folder: string | undefined): Binaries | undefined => {
  if (folder !== undefined) {
    if (!existsSync(join(folder, "postgres")))
      throw new StartupError(
        `PG_BIN_DIR_${version} is ${folder}, which holds no program postgres.`,
        `Set it to the bin folder of a PostgreSQL ${version}, or leave it out to use the embedded one.`,
      )
    return { native: dirname(folder), version: `${version}`, major: `${version}` }
  }
  try {
    return locateBinaries(process.platform, process.arch, version)
  } catch (error) {
    if (error instanceof StartupError) return undefined
    throw error
  }
}

/** Which versions this machine can run. Links and copies of the programs are made when a version is first used. */
export const createVersions = (options: {
  folders: ProgramFolders
  account: Account | undefined
  stagingDir: string
  log: (line: string) => void
}): Versions => {
  const { folders, account, stagingDir, log } = options
  const located = new Map(
    pgVersions.flatMap(version => {
      const found = locate(version, folders[version])
      return found ? [[version, found] as const] : []
    }),
  )
  const prepared = new Map<PgVersion, Promise<Binaries>>()

  const prepare = (version: PgVersion): Promise<Binaries> => {
    const found = located.get(version)
    if (!found) throw new PortError("refused", `PostgreSQL ${version} is not installed here`)
    // An operator's own programs are where everybody may run them, and complete.
    return folders[version] === undefined
      ? prepareBinaries(found, { account, stagingDir, log })
      : Promise.resolve(found)
  }

  return {
    available: [...located.keys()],
    async programs(version) {
      const known = prepared.get(version) ?? prepare(version)
      prepared.set(version, known)
      known.catch(() => prepared.delete(version))
      return known
    },
  }
}
