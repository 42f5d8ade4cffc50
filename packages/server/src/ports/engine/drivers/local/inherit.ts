import { copyFile, link, mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import type { BranchedFrom, Lsn } from "../../port.ts"
import type { History } from "./history.ts"
import { type Base, syncDirectory } from "./records.ts"
import { isTemplate, WAL_SEGMENT_MB } from "./template.ts"
import type { Host, Volume } from "./volume.ts"
import type { WalFile } from "./wal/archive.ts"
import { formatLsn, parseLsn, parseSegmentName, segmentAt, segmentStart } from "./wal/position.ts"

const SEGMENT_BYTES = WAL_SEGMENT_MB * 1024 ** 2

/** An image and the log since: what a copy was made of, and can be made of once more. */
export interface Beginning {
  readonly base: Base & { readonly dataDir: string }
  readonly files: readonly WalFile[]
}

/** The newest state of a volume as its history has it; undefined where the history has not begun. */
export const newestBeginning = async (history: History, volumeId: string): Promise<Beginning | undefined> => {
  const base = await history.baseFor(volumeId, { kind: "head" }).catch(() => undefined)
  return base && { base, files: await history.wal(volumeId, base) }
}

/** Makes a folder whose files are those of another, which never change. */
const linkTree = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [path, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await linkTree(path, target)
    else await link(path, target)
  }
  await syncDirectory(to)
}

const isBefore = ({ name }: WalFile, lsn: Lsn): boolean => {
  const segment = parseSegmentName(name, SEGMENT_BYTES)
  return segment === undefined || segment.number < segmentAt(parseLsn(lsn), SEGMENT_BYTES)
}

/**
 * Begins the history of a copy with that of its source, by links that take no room: the copy can be restored, and made
 * again should its own files be lost, from the moment it exists. On disk when this resolves. `until`: for a copy on the
 * timeline of its source, where it goes its own way; its own log has that segment whole.
 */
export const inherit = async (
  { host, target }: { readonly host: Host; readonly target: Volume },
  { base, files }: Beginning,
  until?: Lsn,
): Promise<void> => {
  const { id } = target.record
  const { basesDir, walDir } = host.layout
  if (!isTemplate(base.name)) await linkTree(base.dataDir, join(basesDir(id), base.name))
  for (const file of files) {
    if (until !== undefined && !isBefore(file, until)) continue
    const path = join(walDir(id), file.name)
    // The segment that is being written would change.
    if (file.path.endsWith(file.name)) await link(file.path, path)
    else await copyFile(file.path, path).catch(() => copyFile(join(file.path, "..", file.name), path))
  }
  await syncDirectory(walDir(id))
}

/**
 * Drops what the source wrote on its timeline after the copy had parted from it: segments past those that the copy has
 * of its own would look as if the copy's were missing.
 */
export const dropLater = async (
  { host, target }: { readonly host: Host; readonly target: Volume },
  { files }: Beginning,
  parted: Lsn,
): Promise<void> => {
  const end = formatLsn(segmentStart(segmentAt(parseLsn(parted), SEGMENT_BYTES) + 1n, SEGMENT_BYTES))
  const walDir = host.layout.walDir(target.record.id)
  for (const file of files) if (!isBefore(file, end)) await rm(join(walDir, file.name), { force: true })
}

/** The image as one of the copy's, which has no history from before it parted from its source. */
export const inheritedBase = ({ base }: Beginning, from: BranchedFrom): Base => ({
  name: base.name,
  redo: base.redo,
  timeline: base.timeline,
  consistent: from.lsn,
  consistentAt: from.time.toISOString(),
})
