/** A folder of log: `<24 hex>` segments, one `<24 hex>.partial` that is being written, `<8 hex>.history` files. */
import { constants, copyFile, open, readdir, readFile, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import type { Lsn } from "../../../port.ts"
import {
  formatLsn,
  historyName,
  isSegmentSize,
  parseHistory,
  parseHistoryName,
  parseLsn,
  parseSegmentName,
  segmentAt,
  segmentName,
  segmentStart,
  type TimelineSwitch,
} from "./position.ts"
import { PARTIAL } from "./segment-writer.ts"

export interface ArchivedSegment {
  readonly timeline: number
  readonly number: bigint
  readonly path: string
  /** Its name in `pg_wal`, complete or not. */
  readonly name: string
  readonly isPartial: boolean
}

/** What a folder held when it was read. */
export interface Archive {
  readonly walDir: string
  /** Undefined when there is no segment yet. */
  readonly segmentBytes: number | undefined
  readonly systemId: bigint | undefined
  /** By timeline, then position; of a segment that is there twice only the complete file. */
  readonly segments: readonly ArchivedSegment[]
  /** The ancestors of each timeline that has a history file, oldest first. */
  readonly histories: ReadonlyMap<number, readonly TimelineSwitch[]>
}

/** A file to be put into `pg_wal` under a name. */
export interface WalFile {
  readonly path: string
  readonly name: string
}

/** Log that is missing: from the first position on, up to the second. */
export interface Gap {
  readonly timeline: number
  readonly from: Lsn
  readonly to: Lsn
}

/** XLogLongPageHeaderData, with which each segment begins (src/include/access/xlog_internal.h), little-endian. */
const HEADER_BYTES = 40
const INFO_AT = 2
const LONG_HEADER = 0x0002
const SYSTEM_ID_AT = 24
const SEGMENT_BYTES_AT = 32

export interface SegmentHeader {
  readonly systemId: bigint
  readonly segmentBytes: number
}

/** Undefined when nothing has been written into the segment yet. */
export const readSegmentHeader = async (path: string): Promise<SegmentHeader | undefined> => {
  const file = await open(path, "r")
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    const segmentBytes = buffer.readUInt32LE(SEGMENT_BYTES_AT)
    const isHeader = (buffer.readUInt16LE(INFO_AT) & LONG_HEADER) !== 0 && isSegmentSize(segmentBytes)
    if (bytesRead < HEADER_BYTES || !isHeader) return undefined
    return { systemId: buffer.readBigUInt64LE(SYSTEM_ID_AT), segmentBytes }
  } finally {
    await file.close()
  }
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT"

/** Reads a file of an archive that is being written: it may have got its final name since it was listed. */
const readingAt = async <Result>(path: string, read: (path: string) => Promise<Result>): Promise<Result> => {
  try {
    return await read(path)
  } catch (error) {
    if (!isMissing(error) || !path.endsWith(PARTIAL)) throw error
    return await read(path.slice(0, -PARTIAL.length))
  }
}

export const readWalFile = ({ path }: Pick<WalFile, "path">): Promise<Buffer> =>
  readingAt(path, existing => readFile(existing))

/** Copies files into a folder under the names that a server looks for; returns the paths of the copies. */
export const copyWalFiles = async (files: readonly WalFile[], folder: string): Promise<readonly string[]> => {
  const copies: string[] = []
  for (const { path, name } of files) {
    const copy = join(folder, name)
    await readingAt(path, existing => copyFile(existing, copy, constants.COPYFILE_FICLONE))
    copies.push(copy)
  }
  return copies
}

/** A file that was pruned since the folder was listed counts for nothing. */
const headerIfThere = async (path: string): Promise<SegmentHeader | undefined> => {
  try {
    return await readingAt(path, readSegmentHeader)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

const SEGMENT_FILE = /^[0-9A-F]{24}(\.partial)?$/

/** Any segment tells the size of all: the oldest is complete as a rule, the newest may still be empty. */
const firstHeader = async (walDir: string, names: readonly string[]): Promise<SegmentHeader | undefined> => {
  for (const name of names) {
    const header = await headerIfThere(join(walDir, name))
    if (header) return header
  }
  return undefined
}

const toSegment = (walDir: string, file: string, segmentBytes: number): ArchivedSegment | undefined => {
  const name = file.slice(0, 24)
  const parsed = parseSegmentName(name, segmentBytes)
  return parsed && { ...parsed, name, path: join(walDir, file), isPartial: file.endsWith(PARTIAL) }
}

/** A folder that does not exist is empty. */
const listNames = async (walDir: string): Promise<readonly string[]> =>
  await readdir(walDir).catch(error => {
    if (error.code === "ENOENT") return []
    throw error
  })

/** A folder that does not exist is an empty archive. */
export const readArchive = async (walDir: string): Promise<Archive> => {
  // A file that is renamed while a folder is listed may show up under neither of its names. It does the next time.
  const names = [...new Set([...(await listNames(walDir)), ...(await listNames(walDir))])]
  // In the order of timelines and positions, and a complete file before a partial one of the same segment.
  const files = names.filter(name => SEGMENT_FILE.test(name)).sort()
  const header = await firstHeader(walDir, files)
  const segmentBytes = header?.segmentBytes
  const segments =
    segmentBytes === undefined ? [] : files.flatMap(file => toSegment(walDir, file, segmentBytes) ?? [])
  const histories = new Map<number, readonly TimelineSwitch[]>()
  for (const name of names) {
    const timeline = parseHistoryName(name)
    if (timeline !== undefined)
      histories.set(timeline, parseHistory(await readFile(join(walDir, name), "utf8")))
  }
  return {
    ...{ walDir, segmentBytes, systemId: header?.systemId, histories },
    segments: segments.filter(({ name }, index) => segments[index - 1]?.name !== name),
  }
}

/** The segments of a timeline, and what they span; a partial last one counts as whole. */
export const timelineSpan = (
  { segments, segmentBytes }: Archive,
  timeline: number,
): { readonly first: Lsn; readonly end: Lsn } | undefined => {
  const own = segments.filter(segment => segment.timeline === timeline)
  const [first, last] = [own[0], own.at(-1)]
  if (!first || !last || segmentBytes === undefined) return undefined
  return {
    first: formatLsn(segmentStart(first.number, segmentBytes)),
    end: formatLsn(segmentStart(last.number + 1n, segmentBytes)),
  }
}

const highest = (numbers: Iterable<number>): number | undefined =>
  [...numbers].reduce<number | undefined>((top, number) => (number > (top ?? 0) ? number : top), undefined)

/** The newest timeline that goes back to the one given, as `recovery_target_timeline=latest` finds it. */
export const latestTimeline = ({ histories }: Archive, timeline: number): number => {
  const heirs = [...histories].filter(([, ancestors]) => ancestors.some(past => past.timeline === timeline))
  return highest(heirs.map(([heir]) => heir)) ?? timeline
}

/** Each timeline on the way to the last, and where the first position of its own is. */
const chainTo = ({ histories }: Archive, last: number): { timeline: number; begins: bigint }[] => {
  const ancestors = histories.get(last) ?? []
  const timelines = [...ancestors.map(({ timeline }) => timeline), last]
  return timelines.map((timeline, index) => ({ timeline, begins: ancestors[index - 1]?.at ?? 0n }))
}

export interface Replay {
  /** Where the image stands that the log is replayed on. */
  readonly from: { readonly timeline: number; readonly redo: Lsn }
  /** Up to where, exclusive; to the end of the archive when it is left out. */
  readonly to?: Lsn
  /** At the end of which timeline; the newest one that goes back to the image's when it is left out. */
  readonly timeline?: number
}

/**
 * The files from which the log is replayed, in order, and the first gap among them. Where a timeline ended within a
 * segment, the next one's file of that segment holds both parts.
 */
export const replayFiles = (archive: Archive, { from, to, timeline }: Replay) => {
  const { segments, segmentBytes, walDir } = archive
  const last = timeline ?? latestTimeline(archive, from.timeline)
  const chain = chainTo(archive, last)
  const files: WalFile[] = [...archive.histories.keys()].map(past => {
    const name = historyName(past)
    return { path: join(walDir, name), name }
  })
  const start = parseLsn(from.redo)
  const asked = to === undefined ? undefined : parseLsn(to)
  if (segmentBytes === undefined)
    return { files, gap: { timeline: last, from: from.redo, to: to ?? from.redo } satisfies Gap }

  const byName = new Map(segments.map(segment => [segment.name, segment]))
  const cutOff = unfinished(segments)
  const onChain = new Set(chain.map(past => past.timeline))
  const newest = segments.reduce(
    (top, segment) => (onChain.has(segment.timeline) && segment.number > top ? segment.number : top),
    segmentAt(start, segmentBytes),
  )
  const end = asked === undefined ? newest : segmentAt(asked > start ? asked - 1n : start, segmentBytes)
  let gap: Gap | undefined
  // Past what is there one gap says it all, however far away the end is that was asked for.
  for (let number = segmentAt(start, segmentBytes); number <= end && number <= newest; number += 1n) {
    const owner = chain.findLast(({ begins }) => segmentAt(begins, segmentBytes) <= number)
    const owned = owner?.timeline ?? last
    const segment = byName.get(segmentName(owned, number, segmentBytes))
    if (segment) files.push({ path: segment.path, name: segment.name })
    if (!segment || cutOff.has(segment)) gap ??= gapOf(owned, number, number + 1n, segmentBytes)
  }
  if (end > newest) gap ??= gapOf(last, newest + 1n, end + 1n, segmentBytes)
  return { files, gap }
}

const gapOf = (timeline: number, first: bigint, after: bigint, segmentBytes: number): Gap => ({
  timeline,
  from: formatLsn(segmentStart(first, segmentBytes)),
  to: formatLsn(segmentStart(after, segmentBytes)),
})

/** A segment that was never finished, though its timeline goes on: its end is missing. */
const unfinished = (segments: readonly ArchivedSegment[]): ReadonlySet<ArchivedSegment> =>
  new Set(
    segments.filter((segment, at) => segment.isPartial && segments[at + 1]?.timeline === segment.timeline),
  )

/** Every stretch that is missing before the last segment of its timeline. */
export const findGaps = ({ segments, segmentBytes }: Archive): readonly Gap[] => {
  if (segmentBytes === undefined) return []
  const cutOff = unfinished(segments)
  return segments.flatMap(({ timeline, number }, index) => {
    const before = segments[index - 1]
    if (before?.timeline !== timeline) return []
    const first = cutOff.has(before) ? before.number : before.number + 1n
    return first === number ? [] : [gapOf(timeline, first, number, segmentBytes)]
  })
}

/**
 * Removes the segments that end at or before a position, whatever their timeline, and tells how many. The newest one
 * stays in any case: where the archive goes on is read from it. History files are small, and stay.
 */
export const pruneArchive = async (archive: Archive, before: Lsn): Promise<number> => {
  const { segments, segmentBytes } = archive
  if (segmentBytes === undefined) return 0
  const limit = segmentAt(parseLsn(before), segmentBytes)
  const dropped = segments.slice(0, -1).filter(({ number }) => number < limit)
  // Oldest first, so that a crash in between leaves no gap.
  for (const { path } of dropped.sort((a, b) => (a.number < b.number ? -1 : 1)))
    await rm(path, { force: true })
  return dropped.length
}

/** Bytes that the archive takes on disk. */
export const archiveBytes = async ({ walDir, segments, histories }: Archive): Promise<number> => {
  const paths = [
    ...segments.map(({ path }) => path),
    ...[...histories.keys()].map(timeline => join(walDir, historyName(timeline))),
  ]
  const sizes = await Promise.all(
    paths.map(path =>
      stat(path).then(
        ({ blocks }) => blocks * 512,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, bytes) => sum + bytes, 0)
}
