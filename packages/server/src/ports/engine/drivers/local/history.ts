import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { PortError } from "../../../port-error.ts"
import type { Lsn, RecoveryPoint } from "../../port.ts"
import { parseLsn } from "./control-file.ts"
import type { Layout } from "./layout.ts"
import { type Base, type Records, TEMPLATE_BASE, type VolumeRecord } from "./records.ts"
import { type Templates, WAL_SEGMENT_MB } from "./template.ts"

/** A file of the log, with the name under which a server looks for it. */
export interface WalFile {
  readonly path: string
  readonly name: string
}

type Beginning = Pick<Base, "redo" | "timeline">

/** What a volume can be restored from: images of its data directory, and the log since. */
export interface History {
  /** The newest image from which the point can be reached. Throws `refused` when there is none. */
  baseFor(record: VolumeRecord, point: RecoveryPoint): Promise<Base & { readonly dataDir: string }>
  /** Images from which there is log without a gap. */
  usable(record: VolumeRecord): Promise<readonly Base[]>
  /** The files of the log from an image's beginning to the end of the archive. */
  wal(volumeId: string, from: Beginning): Promise<readonly WalFile[]>
  /** Drops images and log that no point from `before` on needs. */
  prune(record: VolumeRecord, before: Date): Promise<void>
}

const SEGMENT_BYTES = BigInt(WAL_SEGMENT_MB * 1024 * 1024)
const SEGMENTS_PER_FILE_ID = 0x1_0000_0000n / SEGMENT_BYTES
const SEGMENT = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})(\.partial)?$/

export const segmentNumber = (lsn: Lsn): bigint => parseLsn(lsn) / SEGMENT_BYTES

const hex = (value: bigint): string => value.toString(16).toUpperCase().padStart(8, "0")

/** The file name of the segment that holds a position. */
export const segmentName = ({ redo, timeline }: Beginning): string => {
  const segment = segmentNumber(redo)
  return hex(BigInt(timeline)) + hex(segment / SEGMENTS_PER_FILE_ID) + hex(segment % SEGMENTS_PER_FILE_ID)
}

interface Segment extends WalFile {
  readonly number: bigint
  readonly isPartial: boolean
}

const toSegment = (walDir: string, file: string): Segment | undefined => {
  const match = SEGMENT.exec(file)
  if (!match) return undefined
  const number = BigInt(`0x${match[2]}`) * SEGMENTS_PER_FILE_ID + BigInt(`0x${match[3]}`)
  return { number, name: file.slice(0, 24), path: join(walDir, file), isPartial: match[4] !== undefined }
}

const listSegments = async (walDir: string): Promise<Segment[]> => {
  const files = await readdir(walDir).catch(() => [])
  const found = files.flatMap(file => toSegment(walDir, file) ?? [])
  const complete = new Set(found.filter(({ isPartial }) => !isPartial).map(({ name }) => name))
  return found.filter(({ isPartial, name }) => !isPartial || !complete.has(name))
}

/** Whether every segment from one on to the newest is there. */
const isContinuous = (segments: readonly Segment[], first: bigint): boolean => {
  const numbers = new Set(segments.map(({ number }) => number))
  const last = segments.reduce((highest, { number }) => (number > highest ? number : highest), first)
  for (let number = first; number <= last; number += 1n) if (!numbers.has(number)) return false
  return true
}

const reaches = ({ consistentAt, redo }: Base, point: RecoveryPoint): boolean => {
  if (point.kind === "time") return new Date(consistentAt) <= point.time
  if (point.kind === "lsn") return parseLsn(redo) <= parseLsn(point.lsn)
  return true
}

export const createHistory = (needs: { layout: Layout; records: Records; templates: Templates }): History => {
  const { layout, records, templates } = needs

  const dataDirOf = async ({ pgVersion, id }: VolumeRecord, { name }: Base): Promise<string> =>
    name === TEMPLATE_BASE ? templates.dataDir(pgVersion) : join(layout.basesDir(id), name)

  const usable = async ({ id, bases }: VolumeRecord) => {
    const segments = await listSegments(layout.walDir(id))
    return bases.filter(({ redo }) => isContinuous(segments, segmentNumber(redo)))
  }

  const dropWal = async (volumeId: string, first: bigint) => {
    for (const { path, number } of await listSegments(layout.walDir(volumeId))) {
      if (number < first) await rm(path, { force: true })
    }
  }

  return {
    usable,

    async baseFor(record, point) {
      const base = (await usable(record)).findLast(candidate => reaches(candidate, point))
      if (!base) throw new PortError("refused", "the point lies before the recovery window")
      return { ...base, dataDir: await dataDirOf(record, base) }
    },

    async wal(volumeId, { redo }) {
      const walDir = layout.walDir(volumeId)
      const segments = await listSegments(walDir)
      const histories = (await readdir(walDir).catch(() => [])).filter(file => /^[0-9A-F]{8}\.history$/.test(file))
      return [
        ...segments.filter(({ number }) => number >= segmentNumber(redo)),
        ...histories.map(name => ({ path: join(walDir, name), name })),
      ]
    },

    async prune(record, before) {
      // The newest image from before the window is where its oldest point is replayed from.
      const from = record.bases.findLastIndex(({ consistentAt }) => new Date(consistentAt) <= before)
      if (from <= 0) return
      const kept = record.bases.slice(from)
      await records.save({ ...record, bases: kept })
      for (const { name } of record.bases.slice(0, from)) {
        if (name !== TEMPLATE_BASE) await rm(join(layout.basesDir(record.id), name), { recursive: true, force: true })
      }
      const [oldest] = kept
      if (oldest) await dropWal(record.id, segmentNumber(oldest.redo))
    },
  }
}
