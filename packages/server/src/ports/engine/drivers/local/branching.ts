import { existsSync } from "node:fs"
import { appendFile, chown, mkdir, readdir, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { errorCode } from "../../../../kernel/startup-error.ts"
import { PortError } from "../../../port-error.ts"
import type { BranchedFrom, Lsn, RecoveryPoint } from "../../port.ts"
import { asAdmin } from "./admin.ts"
import { readControlFile } from "./control-file.ts"
import { copyTree, syncFileSystem } from "./copy.ts"
import type { History } from "./history.ts"
import { copyAtRest, copyRunning, type Image, madeWhole } from "./images.ts"
import { type Beginning, dropLater, inherit, newestBeginning } from "./inherit.ts"
import { TargetNotReached } from "./server-process.ts"
import { WAL_SEGMENT_MB } from "./template.ts"
import type { Host, Volume } from "./volume.ts"
import { copyWalFiles, type WalFile } from "./wal/archive.ts"
import { parseLsn, segmentAt, segmentName } from "./wal/position.ts"

/** How long the archive may take to get what the server has written; it is behind by milliseconds. */
const ARCHIVE_WAIT_MS = 15_000

const lastWritten = async (host: Host, source: Volume): Promise<Lsn> =>
  asAdmin({ socketDir: source.socketDir, password: host.adminPassword }, async client => {
    const { rows } = await client.query<{ lsn: string }>("SELECT pg_current_wal_flush_lsn() AS lsn")
    return rows[0]?.lsn ?? "0/0"
  })

/** Waits until the archive holds everything up to a position, or says that it does not come. */
const archivedTo = async (source: Volume, lsn: Lsn): Promise<void> => {
  if (source.follower === undefined || (await source.follower.flushedTo(lsn, ARCHIVE_WAIT_MS))) return
  throw new PortError("unavailable", "the history of the database is behind, and does not catch up")
}

const placeWal = async (files: readonly WalFile[], target: Volume, dataDir: string): Promise<void> => {
  const placed = await copyWalFiles(files, join(dataDir, "pg_wal"))
  const { owner } = target
  if (owner) await Promise.all(placed.map(path => chown(path, owner.uid, owner.gid)))
}

const SEGMENT_BYTES = WAL_SEGMENT_MB * 1024 * 1024

/** The log of a data directory at rest, from the segment on in which its image begins. */
const walAtRest = async (dataDir: string, { redo, timeline }: Image): Promise<readonly WalFile[]> => {
  const first = segmentName(timeline, segmentAt(parseLsn(redo), SEGMENT_BYTES), SEGMENT_BYTES)
  const names = await readdir(join(dataDir, "pg_wal"))
  return names
    .filter(name => /^[0-9A-F]{8}\.history$/.test(name) || (/^[0-9A-F]{24}$/.test(name) && name >= first))
    .map(name => ({ path: join(dataDir, "pg_wal", name), name }))
}

/** Everything a copy needs of a volume and of where its copy goes. */
interface Copying {
  readonly host: Host
  readonly source: Volume
  readonly target: Volume
  readonly history: History
  /**
   * The files of the copy need not be on disk before somebody uses it, because the history that it inherits is: that is
   * most of the time that a copy takes. The server begins without waiting for the disk, and waits from `settle` on.
   */
  readonly canBeMadeAgain: boolean
}

/** A copy that runs, and where it parted from its source. */
export interface Copied extends BranchedFrom {
  /** What the copy can be made of again; undefined: its files are on disk and its history has not begun. */
  readonly beginning: Beginning | undefined
}

/** The volume's folder, whole or not there at all; on disk, unless it can be made again from what is. */
const fillVolume = async <Result>(
  { host, target, canBeMadeAgain }: Copying,
  fill: (dataDir: string) => Promise<Result>,
): Promise<Result> => {
  const folder = host.layout.volumeDir(target.record.id)
  return madeWhole(folder, async draft => {
    await mkdir(draft, { mode: 0o700 })
    if (target.owner) await chown(draft, target.owner.uid, target.owner.gid)
    const dataDir = join(draft, "data")
    const result = await fill(dataDir)
    if (canBeMadeAgain) await appendFile(join(dataDir, "postgresql.auto.conf"), "fsync = 'off'\n")
    else await syncFileSystem(dirname(draft))
    return result
  })
}

const headAtRest = async (copying: Copying): Promise<Image> => {
  const { host, source, target } = copying
  const from = host.layout.dataDir(source.record.id)
  return fillVolume(copying, async dataDir => {
    const image = await copyAtRest(from, dataDir, { source: source.owner, owner: target.owner })
    await placeWal(await walAtRest(from, image), target, dataDir)
    return image
  })
}

const headRunning = async (copying: Copying): Promise<Image> => {
  const { host, source, target, history } = copying
  const at = { socketDir: source.socketDir, password: host.adminPassword }
  return fillVolume(copying, async dataDir => {
    const image = await copyRunning(at, host.layout.dataDir(source.record.id), dataDir, {
      source: source.owner,
      owner: target.owner,
    })
    await archivedTo(source, image.consistent)
    await placeWal(await history.wal(source.record.id, image), target, dataDir)
    return image
  })
}

/** The newest state of the source. Nobody is connected to a volume at rest, and copying it then is quicker. */
export const copyHead = async (asked: Omit<Copying, "canBeMadeAgain">, defer: boolean): Promise<Copied> => {
  const { host, source, target, history } = asked
  const canBeMadeAgain = defer && (await newestBeginning(history, source.record.id)) !== undefined
  const copying = { ...asked, canBeMadeAgain }
  const sourceDir = host.layout.dataDir(source.record.id)
  // Its disk was lost; what is in the history was not.
  if (source.state === "idle" && !existsSync(sourceDir)) return copyPoint(asked, { kind: "head" }, defer)
  // Its server may run, and writes no log to copy by; all of it is in the history.
  if (source.isReadOnly) return copyPoint(asked, { kind: "head" }, defer)
  const isOrderly = async () => source.state === "idle" && (await readControlFile(sourceDir)).shutDown
  let image: Image | undefined
  if (source.state === "idle") {
    image = await source.alone(async () => ((await isOrderly()) ? await headAtRest(copying) : undefined))
  }
  if (!image) {
    await source.wake()
    image = await headRunning(copying)
  }
  const beginning = canBeMadeAgain ? await newestBeginning(history, source.record.id) : undefined
  if (beginning) await inherit(copying, beginning, image.consistent)
  await target.recover({ settings: [KEEP_LOG], waitsForDisk: beginning === undefined })
  // A running source went on after the image; of one at rest nothing was left to replay.
  const { lsn, time } = await lastReplayed(host, target)
  return {
    lsn: parseLsn(lsn) > parseLsn(image.consistent) ? lsn : image.consistent,
    time: image.takenAt > time ? image.takenAt : time,
    beginning,
  }
}

/** The archiver, which comes when the server is there, begins with the segment in which the copy parted. */
const KEEP_LOG = "wal_keep_size=64MB"

const recoveryTarget = (point: RecoveryPoint): readonly string[] => {
  // A server that starts does not know the abbreviation Z yet.
  if (point.kind === "time") return [`recovery_target_time=${point.time.toISOString().replace("Z", "+00")}`]
  // A position is where what is wanted ends; what begins there is not.
  if (point.kind === "lsn") return [`recovery_target_lsn=${point.lsn}`, "recovery_target_inclusive=off"]
  return []
}

/** The log lies in `pg_wal` already; PostgreSQL wants a command all the same, and takes a failing one for "not there". */
const REPLAY = ["restore_command=false", "recovery_target_action=promote", KEEP_LOG]

/** How far the log was replayed that a server was started on. */
const lastReplayed = async (host: Host, target: Volume): Promise<BranchedFrom> =>
  asAdmin({ socketDir: target.socketDir, password: host.adminPassword }, async client => {
    const { rows } = await client.query<{ lsn: string; time: Date }>(`
      SELECT coalesce(pg_last_wal_replay_lsn(), pg_current_wal_flush_lsn()) AS lsn,
        coalesce(pg_last_xact_replay_timestamp(), clock_timestamp()) AS time`)
    return rows[0] ?? { lsn: "0/0", time: new Date() }
  })

/** `written` is how far the source had come for certain; undefined when it rests. */
const replay = async (
  { host, target, canBeMadeAgain }: Copying,
  point: RecoveryPoint,
  written: Lsn | undefined,
): Promise<void> => {
  const recover = (settings: readonly string[]) => target.recover({ settings, waitsForDisk: !canBeMadeAgain })
  try {
    await recover([...REPLAY, ...recoveryTarget(point)])
  } catch (error) {
    if (!(error instanceof TargetNotReached)) throw error
    // Nothing was committed between the end of the log and that time, so the end is that state.
    await recover(REPLAY)
    if (point.kind !== "lsn") return
    // PostgreSQL stops before what begins at a position, and there is nothing if that is the end.
    const end = parseLsn((await lastReplayed(host, target)).lsn)
    const known = written === undefined ? end : parseLsn(written)
    if (parseLsn(point.lsn) > (known > end ? known : end)) throw error
  }
}

/** An earlier state of the source: an image from before the point, and the log from there up to it. */
export const copyPoint = async (
  asked: Omit<Copying, "canBeMadeAgain">,
  point: RecoveryPoint,
  defer: boolean,
): Promise<Copied> => {
  const { host, source, target, history } = asked
  const copying = { ...asked, canBeMadeAgain: defer }
  const { id } = source.record
  const written =
    source.state === "active" && !source.isReadOnly ? await lastWritten(host, source) : undefined
  if (written) await archivedTo(source, written)
  const base = await history.baseFor(id, point)
  const beginning = { base, files: await history.wal(id, base) }
  await fillVolume(copying, async dataDir => {
    await copyTree(base.dataDir, dataDir, {
      owner: target.owner,
      isStill: true,
      skip: path =>
        /^pg_wal\/[0-9A-F]/.test(path) || path.startsWith("pg_replslot/") || path === "postmaster.opts",
    })
    await placeWal(beginning.files, target, dataDir)
    const signal = join(dataDir, "recovery.signal")
    await writeFile(signal, "", { mode: 0o600 })
    if (target.owner) await chown(signal, target.owner.uid, target.owner.gid)
    if (defer) await inherit(copying, beginning)
  }).catch(error => {
    if (errorCode(error) !== "ENOENT") throw error
    throw new PortError("unavailable", "the history was shortened while it was read", error)
  })
  await replay(copying, point, written)
  const replayed = await lastReplayed(host, target)
  if (defer) await dropLater(copying, beginning, replayed.lsn)
  return {
    lsn: point.kind === "lsn" ? point.lsn : replayed.lsn,
    time: point.kind === "time" ? point.time : replayed.time,
    beginning: defer ? beginning : undefined,
  }
}

/** From here on the server of a copy waits for the disk as any other. */
export const settle = (host: Host, target: Volume): Promise<void> =>
  asAdmin({ socketDir: target.socketDir, password: host.adminPassword }, async client => {
    await client.query("ALTER SYSTEM RESET fsync")
    await client.query("SELECT pg_reload_conf()")
    for (;;) {
      const { rows } = await client.query<{ fsync: string }>("SHOW fsync")
      if (rows[0]?.fsync === "on") return
      await client.query("SELECT pg_sleep(0.005)")
    }
  })

/** Makes a volume at rest anew from its own history, up to the last commit. */
export const rebuild = async (host: Host, history: History, volume: Volume): Promise<void> => {
  await rm(host.layout.volumeDir(volume.record.id), { recursive: true, force: true })
  await copyPoint({ host, source: volume, target: volume, history }, { kind: "head" }, false)
}
