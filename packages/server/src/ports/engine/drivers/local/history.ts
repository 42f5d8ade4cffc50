import { rm } from "node:fs/promises"
import { join } from "node:path"
import { PortError } from "../../../port-error.ts"
import type { RecoveryPoint } from "../../port.ts"
import { bytesIn } from "./disk-bytes.ts"
import type { Layout } from "./layout.ts"
import type { Base, Records, VolumeRecord } from "./records.ts"
import { isTemplate, type Templates } from "./template.ts"
import { pruneArchive, readArchive, replayFiles, type WalFile } from "./wal/archive.ts"
import { parseLsn } from "./wal/position.ts"

type Beginning = Pick<Base, "redo" | "timeline">

/** What a volume can be restored from: images of its data directory, and the log since. */
export interface History {
  /** The newest image from which the point can be reached. Throws `refused` when there is none. */
  baseFor(volumeId: string, point: RecoveryPoint): Promise<Base & { readonly dataDir: string }>
  /** Images from which there is log without a gap, oldest first. */
  usable(volumeId: string): Promise<readonly Base[]>
  /** The files of the log from an image's beginning to the end of the archive. */
  wal(volumeId: string, from: Beginning): Promise<readonly WalFile[]>
  /** Bytes that images and log take on disk. */
  bytes(volumeId: string): Promise<number>
  /** Drops the oldest images and their log until the rest takes at most `bytesMax`; the newest of use stays. */
  shorten(volumeId: string, bytesMax: number): Promise<void>
  /** Drops images and log that no point from `before` on needs. */
  prune(volumeId: string, before: Date): Promise<void>
}

const reaches = ({ consistentAt, consistent }: Base, point: RecoveryPoint): boolean => {
  if (point.kind === "time") return new Date(consistentAt) <= point.time
  if (point.kind === "lsn") return parseLsn(consistent) <= parseLsn(point.lsn)
  return true
}

export const createHistory = (needs: { layout: Layout; records: Records; templates: Templates }): History => {
  const { layout, records, templates } = needs

  const dataDirOf = ({ pgVersion, id }: VolumeRecord, { name }: Base): string =>
    isTemplate(name) ? templates.imageDir(pgVersion, name) : join(layout.basesDir(id), name)

  const usable = async (volumeId: string) => {
    const { bases } = await records.get(volumeId)
    const archive = await readArchive(layout.walDir(volumeId))
    return bases.filter(from => replayFiles(archive, { from }).gap === undefined)
  }

  const bytes = async (volumeId: string): Promise<number> => {
    let sum = await bytesIn(layout.walDir(volumeId))
    for (const { name } of (await records.get(volumeId)).bases)
      if (!isTemplate(name)) sum += await bytesIn(join(layout.basesDir(volumeId), name))
    return sum
  }

  const dropBefore = async (record: VolumeRecord, from: number): Promise<void> => {
    const kept = record.bases.slice(Math.max(from, 0))
    const [oldest] = kept
    if (from <= 0 || !oldest) return
    await records.save({ ...record, bases: kept })
    for (const { name } of record.bases.slice(0, from)) {
      const path = join(layout.basesDir(record.id), name)
      if (!isTemplate(name)) await rm(path, { recursive: true, force: true })
    }
    await pruneArchive(await readArchive(layout.walDir(record.id)), oldest.redo)
  }

  return {
    usable,

    async baseFor(volumeId, point) {
      const base = (await usable(volumeId)).findLast(candidate => reaches(candidate, point))
      if (!base) throw new PortError("refused", "the point lies before the recovery window")
      return { ...base, dataDir: dataDirOf(await records.get(volumeId), base) }
    },

    async wal(volumeId, from) {
      return replayFiles(await readArchive(layout.walDir(volumeId)), { from }).files
    },

    async prune(volumeId, before) {
      const record = await records.get(volumeId)
      // The newest image from before the window is where its oldest point is replayed from.
      const from = record.bases.findLastIndex(({ consistentAt }) => new Date(consistentAt) <= before)
      await dropBefore(record, from)
    },

    bytes,

    async shorten(volumeId, bytesMax) {
      for (;;) {
        const record = await records.get(volumeId)
        const kept = await usable(volumeId)
        const hasOther = kept.some(({ name }) => record.bases.findIndex(base => base.name === name) > 0)
        if (!hasOther || (await bytes(volumeId)) <= bytesMax) return
        await dropBefore(record, 1)
      }
    },
  }
}
