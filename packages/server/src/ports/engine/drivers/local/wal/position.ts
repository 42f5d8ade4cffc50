/**
 * Positions in the write-ahead log and the names of its files, as PostgreSQL computes them
 * (src/include/access/xlog_internal.h, XLogFileName). Inside, a position is a count of bytes; outside it is a text.
 */
import { PortError } from "../../../../port-error.ts"
import type { Lsn } from "../../../port.ts"

const FILE_ID_BYTES = 0x1_0000_0000n
const POSITION_MAX = 2n ** 64n - 1n
const SEGMENT_BYTES_MIN = 1024 ** 2
const SEGMENT_BYTES_MAX = 1024 ** 3

const hex8 = (value: bigint): string => value.toString(16).toUpperCase().padStart(8, "0")

/** Throws `refused` when the text is no position. */
export const parseLsn = (lsn: Lsn): bigint => {
  const [, high, low] = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(lsn) ?? []
  if (high === undefined || low === undefined) throw new PortError("refused", `${lsn} is no log position`)
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}

/** `0/3FA01B0`, without leading zeros. */
export const formatLsn = (position: bigint): Lsn => {
  if (position < 0n || position > POSITION_MAX) throw new RangeError(`${position} is no log position`)
  return `${(position >> 32n).toString(16)}/${(position & 0xffff_ffffn).toString(16)}`.toUpperCase()
}

/** Segments are powers of two from 1 MB to 1 GB (`initdb --wal-segsize`). */
export const isSegmentSize = (bytes: number): boolean =>
  bytes >= SEGMENT_BYTES_MIN && bytes <= SEGMENT_BYTES_MAX && Number.isInteger(Math.log2(bytes))

/** The number of the segment that holds the byte at a position, counted from the beginning of the log. */
export const segmentAt = (position: bigint, segmentBytes: number): bigint => position / BigInt(segmentBytes)

export const segmentStart = (number: bigint, segmentBytes: number): bigint => number * BigInt(segmentBytes)

/** 24 hexadecimal digits: the timeline, and the segment's number in two parts. */
export const segmentName = (timeline: number, number: bigint, segmentBytes: number): string => {
  const perFileId = FILE_ID_BYTES / BigInt(segmentBytes)
  return hex8(BigInt(timeline)) + hex8(number / perFileId) + hex8(number % perFileId)
}

export const historyName = (timeline: number): string => `${hex8(BigInt(timeline))}.history`

/** Undefined when the name is not that of a segment of this size. */
export const parseSegmentName = (
  name: string,
  segmentBytes: number,
): { readonly timeline: number; readonly number: bigint } | undefined => {
  const [, timeline, high, low] = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})$/.exec(name) ?? []
  if (timeline === undefined) return undefined
  const perFileId = FILE_ID_BYTES / BigInt(segmentBytes)
  const rest = BigInt(`0x${low}`)
  if (rest >= perFileId) return undefined
  return { timeline: Number.parseInt(timeline, 16), number: BigInt(`0x${high}`) * perFileId + rest }
}

/** Undefined when the name is not that of a history file. */
export const parseHistoryName = (name: string): number | undefined => {
  const [, timeline] = /^([0-9A-F]{8})\.history$/.exec(name) ?? []
  return timeline === undefined ? undefined : Number.parseInt(timeline, 16)
}

/** Where a timeline ended, and the next one of the history began. */
export interface TimelineSwitch {
  readonly timeline: number
  readonly at: bigint
}

/**
 * The ancestors of a timeline, oldest first, from its history file: a line each of number, position and reason, apart
 * from empty lines and comments (src/backend/access/transam/timeline.c).
 */
export const parseHistory = (text: string): readonly TimelineSwitch[] =>
  text
    .split("\n")
    .filter(line => /^\s*[^\s#]/.test(line))
    .map(line => {
      const [, timeline, lsn] = /^\s*(\d{1,10})\s+([0-9A-F]{1,8}\/[0-9A-F]{1,8})(?:\s|$)/i.exec(line) ?? []
      if (timeline === undefined || lsn === undefined)
        throw new PortError("refused", "a timeline's history file cannot be read")
      return { timeline: Number(timeline), at: parseLsn(lsn) }
    })
